//! The implicit type of an unquoted scalar: YAML 1.1 as PyYAML resolves it.
//!
//! Only the spelling counts here; its meaning is in `scalar`.

/// The type of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Binary,
    Timestamp,
    List,
    Map,
    OrderedMap,
    Pairs,
    Set,
    /// The key `<<`.
    Merge,
    /// The key `=`.
    Default,
    /// Any other, by its full name.
    Other(Box<str>),
}

const PREFIX: &str = "tag:yaml.org,2002:";

impl Tag {
    /// The tag with this full name.
    pub(crate) fn named(name: String) -> Self {
        match name.strip_prefix(PREFIX) {
            Some("null") => Self::Null,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("str" | "python/unicode") => Self::Str,
            Some("binary") => Self::Binary,
            Some("timestamp") => Self::Timestamp,
            Some("seq") => Self::List,
            Some("map") => Self::Map,
            Some("omap") => Self::OrderedMap,
            Some("pairs") => Self::Pairs,
            Some("set") => Self::Set,
            Some("merge") => Self::Merge,
            Some("value") => Self::Default,
            _ => Self::Other(name.into()),
        }
    }

    /// The full name.
    pub(crate) fn name(&self) -> String {
        let short = match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Str => "str",
            Self::Binary => "binary",
            Self::Timestamp => "timestamp",
            Self::List => "seq",
            Self::Map => "map",
            Self::OrderedMap => "omap",
            Self::Pairs => "pairs",
            Self::Set => "set",
            Self::Merge => "merge",
            Self::Default => "value",
            Self::Other(name) => return name.to_string(),
        };
        format!("{PREFIX}{short}")
    }
}

/// The type of the unquoted scalar `text`.
pub(crate) fn plain(text: &str) -> Tag {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Tag::Null,
        "<<" => return Tag::Merge,
        "=" => return Tag::Default,
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
            if is_float(text) {
                Tag::Float
            } else if is_int(text) {
                Tag::Int
            } else if is_timestamp(text) {
                Tag::Timestamp
            } else {
                Tag::Str
            }
        }
        _ if super::scalar::bool_of(text).is_some() && has_bool_case(text) => Tag::Bool,
        _ => Tag::Str,
    }
}

/// Whether `text` is in lower, upper or title case, as booleans have to be.
fn has_bool_case(text: &str) -> bool {
    let tail = text.get(1..).unwrap_or_default();
    let lower_tail = !tail.bytes().any(|byte| byte.is_ascii_uppercase());
    let upper = !text.bytes().any(|byte| byte.is_ascii_lowercase());
    lower_tail || upper
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// Takes what `good` allows off the front; the rest is returned.
fn skip(text: &str, good: impl Fn(u8) -> bool) -> &str {
    let length = text.bytes().take_while(|byte| good(*byte)).count();
    text.get(length..).unwrap_or_default()
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// Whether `text` is one or more of `:` and a number below 60; what is behind
/// them is returned.
fn skip_sexagesimals(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let Some(part) = rest.strip_prefix(':') else {
            return (rest.len() < text.len()).then_some(rest);
        };
        rest = match part.as_bytes() {
            [b'0'..=b'5', b'0'..=b'9', ..] => part.get(2..)?,
            [b'0'..=b'9', ..] => part.get(1..)?,
            _ => return None,
        };
    }
}

fn is_int(text: &str) -> bool {
    let text = unsigned(text);
    let all = |digits: &str, good: fn(u8) -> bool| !digits.is_empty() && digits.bytes().all(good);
    if let Some(digits) = text.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1' | b'_'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit() || byte == b'_');
    }
    if let Some(digits) = text.strip_prefix('0') {
        return digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'7' | b'_'));
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = skip(text, is_digit_or_underscore);
    rest.is_empty() || skip_sexagesimals(rest) == Some("")
}

fn is_float(text: &str) -> bool {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let number = unsigned(text);
    if matches!(number, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    if let Some(fraction) = text.strip_prefix('.') {
        return fraction.starts_with(|c: char| c.is_ascii_digit())
            && is_exponent(skip(fraction, is_digit_or_underscore));
    }
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = skip(number, is_digit_or_underscore);
    if let Some(fraction) = rest.strip_prefix('.') {
        return is_exponent(skip(fraction, is_digit_or_underscore));
    }
    let fraction = skip_sexagesimals(rest).and_then(|rest| rest.strip_prefix('.'));
    fraction.is_some_and(|fraction| skip(fraction, is_digit_or_underscore).is_empty())
}

/// Nothing, or an exponent, which must have a sign.
fn is_exponent(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    text.strip_prefix(['e', 'E'])
        .and_then(|rest| rest.strip_prefix(['-', '+']))
        .is_some_and(|digits| !digits.is_empty() && skip(digits, is_digit).is_empty())
}

/// A date, or a date and a time with a fraction and a zone.
fn is_timestamp(text: &str) -> bool {
    let mut scan = Scan(text);
    if !(scan.digits(4, 4) && scan.eat("-")) {
        return false;
    }
    let before = Scan(scan.0);
    if scan.digits(2, 2) && scan.eat("-") && scan.digits(2, 2) && scan.0.is_empty() {
        return true;
    }
    scan = before;
    if !(scan.digits(1, 2) && scan.eat("-") && scan.digits(1, 2)) {
        return false;
    }
    if !(scan.eat("T") || scan.eat("t") || scan.blanks()) {
        return false;
    }
    if !(scan.digits(1, 2) && scan.eat(":") && scan.digits(2, 2)) {
        return false;
    }
    if !(scan.eat(":") && scan.digits(2, 2)) {
        return false;
    }
    if scan.eat(".") {
        scan.0 = skip(scan.0, is_digit);
    }
    if scan.0.is_empty() {
        return true;
    }
    scan.blanks();
    if scan.eat("Z") {
        return scan.0.is_empty();
    }
    if !((scan.eat("-") || scan.eat("+")) && scan.digits(1, 2)) {
        return false;
    }
    scan.0.is_empty() || (scan.eat(":") && scan.digits(2, 2) && scan.0.is_empty())
}

/// The part of a text that is not yet looked at.
struct Scan<'t>(&'t str);

impl Scan<'_> {
    fn eat(&mut self, text: &str) -> bool {
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn blanks(&mut self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let found = rest.len() < self.0.len();
        self.0 = rest;
        found
    }

    /// Takes as many digits as there are, up to `max`; whether there were
    /// `min`.
    fn digits(&mut self, min: usize, max: usize) -> bool {
        let count = self
            .0
            .bytes()
            .take(max)
            .take_while(u8::is_ascii_digit)
            .count();
        self.0 = self.0.get(count..).unwrap_or_default();
        count >= min
    }
}
