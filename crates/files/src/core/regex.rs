//! Python's regular expressions for searching and replacing: flags, groups,
//! and templates of replacements.

use std::iter::Peekable;
use std::str::CharIndices;

use fancy_regex::{Captures, Regex, RegexBuilder};
use halite_call::CallError;
use halite_proto::Value;
use halite_target::pcre::engine_pattern;

use crate::limits::{REGEX_BYTES_MAX, REGEX_STEPS_MAX};

/// `re.IGNORECASE`.
pub(crate) const IGNORECASE: i64 = 2;
/// `re.MULTILINE`.
pub(crate) const MULTILINE: i64 = 8;
/// `re.DOTALL`.
const DOTALL: i64 = 16;
/// `re.VERBOSE`.
const VERBOSE: i64 = 64;

/// A compiled regular expression.
pub(crate) struct Pattern {
    engine: Regex,
    /// The names of its groups.
    names: Vec<Option<String>>,
}

fn error(message: impl Into<String>) -> CallError {
    CallError::exception("re.error", message)
}

/// Flags from a number, a name, or a list of names.
pub(crate) fn flags(value: &Value) -> Result<i64, CallError> {
    match value {
        Value::List(names) => names
            .iter()
            .try_fold(0, |all, name| Ok(all | named_flag(name)?)),
        Value::Nil => Ok(0),
        Value::Int(_) | Value::Bool(_) => halite_call::python::int(value),
        name => named_flag(name),
    }
}

fn named_flag(name: &Value) -> Result<i64, CallError> {
    let text = halite_call::python::str(name);
    match text.to_uppercase().as_str() {
        "I" | "IGNORECASE" => Ok(IGNORECASE),
        "L" | "LOCALE" => Ok(4),
        "M" | "MULTILINE" => Ok(MULTILINE),
        "S" | "DOTALL" => Ok(DOTALL),
        "U" | "UNICODE" => Ok(32),
        "X" | "VERBOSE" => Ok(VERBOSE),
        "A" | "ASCII" => Ok(256),
        _ => match text.parse::<i64>() {
            Ok(number) => Ok(number),
            Err(_) => Err(CallError::command(format!("Invalid re flag given: {text}"))),
        },
    }
}

impl Pattern {
    /// `re.compile(pattern, flags)`.
    pub(crate) fn new(pattern: &str, flags: i64) -> Result<Self, CallError> {
        let mut letters = String::new();
        for (flag, letter) in [
            (IGNORECASE, 'i'),
            (MULTILINE, 'm'),
            (DOTALL, 's'),
            (VERBOSE, 'x'),
        ] {
            if flags & flag != 0 {
                letters.push(letter);
            }
        }
        // Flags of the pattern itself are joined with those given.
        let mut rest = pattern;
        while let Some((own, after)) = leading_flags(rest) {
            letters.push_str(own);
            rest = after;
        }
        let full = if letters.is_empty() {
            rest.to_owned()
        } else {
            format!("(?{letters}){rest}")
        };
        let (engine, names) = engine_pattern(&full).map_err(|wrong| {
            let shift = full.len() as i64 - pattern.len() as i64;
            let at = i64::try_from(wrong.offset).unwrap_or(0) - shift;
            error(format!("{} at position {}", wrong.message, at.max(0)))
        })?;
        RegexBuilder::new(&engine)
            .backtrack_limit(REGEX_STEPS_MAX)
            .delegate_size_limit(REGEX_BYTES_MAX)
            .delegate_dfa_size_limit(REGEX_BYTES_MAX)
            .build()
            .map(|engine| Self { engine, names })
            .map_err(|wrong| error(wrong.to_string()))
    }

    /// The number of a named group.
    fn number_of(&self, name: &str) -> Option<usize> {
        let at = self.names.iter();
        at.map(Option::as_deref)
            .position(|own| own == Some(name))
            .map(|at| at + 1)
    }

    /// `re.search`.
    pub(crate) fn is_in(&self, text: &str) -> Result<bool, CallError> {
        self.engine
            .is_match(text)
            .map_err(|wrong| error(wrong.to_string()))
    }

    /// The first match and its groups.
    pub(crate) fn captures<'t>(
        &self,
        text: &'t str,
    ) -> Result<Option<Captures<'t, str>>, CallError> {
        self.engine
            .captures(text)
            .map_err(|wrong| error(wrong.to_string()))
    }

    /// `re.match`: the match at the start.
    pub(crate) fn captures_start<'t>(
        &self,
        text: &'t str,
    ) -> Result<Option<Captures<'t, str>>, CallError> {
        let found = self.captures(text)?;
        Ok(found.filter(|found| found.get(0).is_some_and(|whole| whole.start() == 0)))
    }

    /// All matches, as `re.finditer` goes through them: an empty one may
    /// follow another directly.
    pub(crate) fn all<'t>(
        &self,
        text: &'t str,
        max: usize,
    ) -> Result<Vec<Captures<'t, str>>, CallError> {
        let mut found = Vec::new();
        let mut at = 0;
        let mut empty_at = None;
        while at <= text.len() && found.len() < max {
            let captures = self
                .engine
                .captures_from_pos(text, at)
                .map_err(|wrong| error(wrong.to_string()))?;
            let Some(captures) = captures else { break };
            let Some(whole) = captures.get(0) else { break };
            if whole.start() == whole.end() && empty_at == Some(whole.start()) {
                let next = text[at..].chars().next().map_or(1, char::len_utf8);
                at += next;
                continue;
            }
            at = whole.end();
            empty_at = (whole.start() == whole.end()).then_some(whole.end());
            // An empty match is not tried again at the same place.
            found.push(captures);
        }
        Ok(found)
    }

    /// `re.subn(template, text, count)`; `count` 0 is all.
    pub(crate) fn replace(
        &self,
        template: &Template,
        text: &str,
        count: usize,
    ) -> Result<(String, usize), CallError> {
        template.check(self)?;
        let max = if count == 0 { usize::MAX } else { count };
        let found = self.all(text, max)?;
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for captures in &found {
            let Some(whole) = captures.get(0) else {
                continue;
            };
            out.push_str(&text[at..whole.start()]);
            template.write(self, captures, &mut out);
            at = whole.end();
        }
        out.push_str(&text[at..]);
        Ok((out, found.len()))
    }
}

fn leading_flags(pattern: &str) -> Option<(&str, &str)> {
    let (flags, rest) = pattern.strip_prefix("(?")?.split_once(')')?;
    let good = !flags.is_empty() && flags.chars().all(|c| "imsxua".contains(c));
    good.then_some((flags, rest))
}

/// What a match is replaced with.
pub(crate) struct Template(Vec<Piece>);

enum Piece {
    Text(String),
    Group(usize, usize),
    Named(String),
}

impl Template {
    /// Text that stands for itself.
    pub(crate) fn literal(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// Reads `\1`, `\g<1>`, `\g<name>` and the escapes of strings.
    pub(crate) fn parse(text: &str) -> Result<Self, CallError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c != '\\' {
                literal.push(c);
                continue;
            }
            let Some((_, next)) = chars.next() else {
                return Err(error(format!(
                    "bad escape (end of pattern) at position {at}"
                )));
            };
            match next {
                'g' => {
                    let name = group_name(&mut chars, at)?;
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(match name.parse() {
                        Ok(number) => Piece::Group(number, at + 3),
                        Err(_) => Piece::Named(name),
                    });
                }
                '0' => {
                    let mut digits = String::new();
                    while let Some((_, c)) =
                        chars.next_if(|(_, c)| digits.len() < 2 && matches!(c, '0'..='7'))
                    {
                        digits.push(c);
                    }
                    let code = u32::from_str_radix(&digits, 8).unwrap_or(0);
                    literal.extend(char::from_u32(code));
                }
                '1'..='9' => {
                    let mut digits = String::from(next);
                    if let Some((_, c)) = chars.next_if(|(_, c)| c.is_ascii_digit()) {
                        digits.push(c);
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(Piece::Group(digits.parse().unwrap_or(0), at + 1));
                }
                'n' => literal.push('\n'),
                't' => literal.push('\t'),
                'r' => literal.push('\r'),
                'a' => literal.push('\x07'),
                'b' => literal.push('\x08'),
                'f' => literal.push('\x0c'),
                'v' => literal.push('\x0b'),
                '\\' => literal.push('\\'),
                other if other.is_ascii_alphabetic() => {
                    return Err(error(format!("bad escape \\{other} at position {at}")));
                }
                other => {
                    literal.push('\\');
                    literal.push(other);
                }
            }
        }
        pieces.push(Piece::Text(literal));
        Ok(Self(pieces))
    }

    fn check(&self, pattern: &Pattern) -> Result<(), CallError> {
        for piece in &self.0 {
            match piece {
                Piece::Group(number, at) if *number >= pattern.engine.captures_len() => {
                    return Err(error(format!(
                        "invalid group reference {number} at position {at}"
                    )));
                }
                Piece::Named(name) if pattern.number_of(name).is_none() => {
                    return Err(CallError::exception(
                        "IndexError",
                        format!("unknown group name '{name}'"),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The replacement of one match.
    pub(crate) fn write(&self, pattern: &Pattern, captures: &Captures<'_, str>, out: &mut String) {
        for piece in &self.0 {
            let group = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Group(number, _) => captures.get(*number),
                Piece::Named(name) => pattern
                    .number_of(name)
                    .and_then(|number| captures.get(number)),
            };
            out.push_str(group.map_or("", |group| group.as_str()));
        }
    }
}

/// Reads the `<name>` of a `\g` that begins at `at`.
fn group_name(chars: &mut Peekable<CharIndices<'_>>, at: usize) -> Result<String, CallError> {
    if chars.next_if(|(_, c)| *c == '<').is_none() {
        return Err(error(format!("missing < at position {}", at + 2)));
    }
    let mut name = String::new();
    loop {
        match chars.next() {
            Some((_, '>')) => return Ok(name),
            Some((_, c)) => name.push(c),
            None => {
                let at = at + 3;
                return Err(error(format!(
                    "missing >, unterminated name at position {at}"
                )));
            }
        }
    }
}

/// `re.escape`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\x0b\x0c".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(pattern: &str, flags: i64, template: &str, text: &str) -> String {
        let template = Template::parse(template).unwrap();
        let pattern = Pattern::new(pattern, flags).unwrap();
        pattern.replace(&template, text, 0).unwrap().0
    }

    #[test]
    fn replacements_are_pythons() {
        assert_eq!(sub("x*", 0, "-", "abxd"), "-a-b--d-");
        assert_eq!(
            sub(r"^(\w+) = (\d)", MULTILINE, r"\2 = \1", "a = 1\nb = 2"),
            "1 = a\n2 = b"
        );
        assert_eq!(sub("(?i)A", MULTILINE, r"\g<0>\n", "a"), "a\n");
        assert_eq!(sub("ü", 0, "ue", "grün"), "gruen");
        assert_eq!(sub("$", MULTILINE, "!", "a\nb"), "a!\nb!");
    }

    #[test]
    fn errors_name_the_place() {
        let wrong = Pattern::new("(", MULTILINE).err().unwrap().to_string();
        assert_eq!(
            wrong,
            "re.error: missing ), unterminated subpattern at position 0"
        );
        let template = Template::parse(r"\g<9>").unwrap();
        let pattern = Pattern::new("Y", 0).unwrap();
        let wrong = pattern.replace(&template, "Y", 0).unwrap_err().to_string();
        assert_eq!(wrong, "re.error: invalid group reference 9 at position 3");
    }

    #[test]
    fn escaped_text_matches_itself() {
        let text = "a.b (c) [d]*# e\\";
        assert!(Pattern::new(&escape(text), 0).unwrap().is_in(text).unwrap());
    }
}
