//! JSON as Python's `json` writes and reads it.

use halite_proto::python;

use crate::error::{Error, Result};
use crate::limits;
use crate::value::{Dict, Key, List, Mapping, Tuple, Value, repr, sort_by};

/// How JSON is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Maps are sorted by key.
    pub sort_keys: bool,
    /// Columns per level; nothing: all on one line.
    pub indent: Option<usize>,
    /// Characters beyond ASCII are kept.
    pub unicode: bool,
}

/// Writes a value.
pub(crate) fn dump(value: &Value, style: Style) -> Result<String> {
    let mut out = String::new();
    write(value, style, &mut out, 0)?;
    Ok(out)
}

/// Data from JSON as Python's `json` reads it; nothing if the text is none.
pub fn from_json(text: &str) -> Option<halite_proto::Value> {
    load(text)?.to_data().ok()
}

/// JSON of data as Python's `json` writes it.
///
/// # Errors
/// For what JSON cannot hold: bytes, and keys that are lists or maps.
pub fn to_json(data: &halite_proto::Value, style: Style) -> Result<String> {
    dump(&Value::from_data(data), style)
}

fn line(style: Style, out: &mut String, depth: usize) {
    if let Some(indent) = style.indent {
        out.push('\n');
        out.push_str(&" ".repeat(indent.min(64) * depth));
    }
}

fn write(value: &Value, style: Style, out: &mut String, depth: usize) -> Result<()> {
    if depth >= limits::NESTING_MAX as usize {
        return Err(Error::of_value("Circular reference detected"));
    }
    let separator = if style.indent.is_some() { "," } else { ", " };
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(float) => out.push_str(&number(*float)),
        Value::Str(text) | Value::Markup(text) => string(text, style.unicode, out),
        Value::List(List(cell)) => {
            let items = cell.0.borrow();
            sequence(&items, style, separator, out, depth)?;
        }
        Value::Tuple(Tuple(cell)) => sequence(&cell.0, style, separator, out, depth)?,
        Value::Dict(Mapping(cell)) => {
            let dict = cell.0.borrow();
            if dict.is_empty() {
                out.push_str("{}");
                return Ok(());
            }
            let mut keys = dict.keys();
            if style.sort_keys {
                sort_by(&mut keys, false, |key| Ok(key.clone()))?;
            }
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push_str(separator);
                }
                line(style, out, depth + 1);
                string(&key_text(&key)?, style.unicode, out);
                out.push_str(": ");
                let value = dict.get(&Key::new(key)?).cloned().unwrap_or(Value::None);
                write(&value, style, out, depth + 1)?;
            }
            line(style, out, depth);
            out.push('}');
        }
        other => {
            if let Some(undefined) = other.as_undefined() {
                return Err(undefined.error());
            }
            return Err(Error::of_type(format!(
                "Object of type {} is not JSON serializable",
                other.type_name()
            )));
        }
    }
    Ok(())
}

fn number(float: f64) -> String {
    if float.is_nan() {
        "NaN".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        python::float_repr(float)
    }
}

fn key_text(key: &Value) -> Result<String> {
    Ok(match key {
        Value::Str(text) | Value::Markup(text) => text.to_string(),
        Value::None => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Float(float) => number(*float),
        Value::Int(int) => int.to_string(),
        other => {
            return Err(Error::of_type(format!(
                "keys must be str, int, float, bool or None, not {}",
                other.type_name()
            )));
        }
    })
}

fn sequence(
    items: &[Value],
    style: Style,
    separator: &str,
    out: &mut String,
    depth: usize,
) -> Result<()> {
    if items.is_empty() {
        out.push_str("[]");
        return Ok(());
    }
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        line(style, out, depth + 1);
        write(item, style, out, depth + 1)?;
    }
    line(style, out, depth);
    out.push(']');
    Ok(())
}

/// A JSON string.
pub(crate) fn string(text: &str, unicode: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if u32::from(c) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c if c.is_ascii() || unicode => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// Reads JSON; `None` where it is none.
pub(crate) fn load(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        if depth >= limits::NESTING_MAX {
            return None;
        }
        self.blanks();
        for (word, value) in [
            ("null", Value::None),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
        ] {
            if self.eat(word) {
                return Some(value);
            }
        }
        match self.rest().chars().next()? {
            '"' => self.string().map(Value::str),
            '[' => {
                self.at += 1;
                let mut items = Vec::new();
                self.blanks();
                if self.eat("]") {
                    return Some(Value::list(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    self.blanks();
                    if self.eat("]") {
                        return Some(Value::list(items));
                    }
                    if !self.eat(",") {
                        return None;
                    }
                }
            }
            '{' => {
                self.at += 1;
                let mut dict = Dict::new();
                self.blanks();
                if self.eat("}") {
                    return Some(Value::dict(dict));
                }
                loop {
                    self.blanks();
                    let key = self.string()?;
                    self.blanks();
                    if !self.eat(":") {
                        return None;
                    }
                    let value = self.value(depth + 1)?;
                    dict.insert(Key::text(key), value);
                    self.blanks();
                    if self.eat("}") {
                        return Some(Value::dict(dict));
                    }
                    if !self.eat(",") {
                        return None;
                    }
                }
            }
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.rest();
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let sign = usize::from(rest.starts_with('-'));
        let whole = digits(&rest[sign..]);
        if whole == 0 || (whole > 1 && rest[sign..].starts_with('0')) {
            return None;
        }
        let mut end = sign + whole;
        let mut float = false;
        if rest[end..].starts_with('.') {
            let decimals = digits(&rest[end + 1..]);
            if decimals > 0 {
                end += 1 + decimals;
                float = true;
            }
        }
        if rest[end..].starts_with(['e', 'E']) {
            let signed = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + signed..]);
            if exponent > 0 {
                end += 1 + signed + exponent;
                float = true;
            }
        }
        let text = &rest[..end];
        let value = if float {
            Value::Float(text.parse().ok()?)
        } else {
            Value::Int(text.parse().ok()?)
        };
        self.at += end;
        Some(value)
    }

    fn string(&mut self) -> Option<String> {
        let body = self.rest().strip_prefix('"')?;
        let mut out = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 2;
                    return Some(out);
                }
                '\\' => match chars.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    c @ ('"' | '\\' | '/') => out.push(c),
                    'u' => {
                        let mut unit = hex(&mut chars)?;
                        if (0xd800..0xdc00).contains(&unit) && chars.as_str().starts_with("\\u") {
                            chars.next();
                            chars.next();
                            let low = hex(&mut chars)?;
                            unit = 0x1_0000
                                + ((unit - 0xd800) << 10)
                                + (low.wrapping_sub(0xdc00) & 0x3ff);
                        }
                        out.push(char::from_u32(unit).unwrap_or('\u{fffd}'));
                    }
                    _ => return None,
                },
                c if u32::from(c) < 0x20 => return None,
                c => out.push(c),
            }
        }
        None
    }
}

fn hex(chars: &mut std::str::CharIndices<'_>) -> Option<u32> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit * 16 + chars.next()?.1.to_digit(16)?;
    }
    Some(unit)
}

/// What a wrong text is called in an error.
pub(crate) fn unable(value: &Value) -> Error {
    let shown = value
        .as_str()
        .map_or_else(|| repr(value).unwrap_or_default(), str::to_owned);
    Error::runtime(format!("Unable to load json from {shown}"))
}
