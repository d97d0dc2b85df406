//! `json.loads`.

use crate::limits::DEPTH_MAX;
use crate::value::{Map, Value};

/// `json.loads(text)`. As there, `NaN` and the infinities are read, the last of
/// equal keys counts, and nothing may follow the data but blanks.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn read(text: &str) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.blanks();
    let read = reader.value(0).and_then(|value| {
        reader.blanks();
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.wrong("Extra data")),
        }
    });
    read.map_err(|Wrong { message, at }| JsonError::new(message, text, at))
}

/// A text that is not JSON, in Python's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: line {line} column {column} (char {place})")]
pub struct JsonError {
    /// What is wrong.
    message: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The character, from 0.
    place: usize,
}

impl JsonError {
    fn new(message: &'static str, text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self {
            message,
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            place: before.chars().count(),
        }
    }
}

/// What is wrong, and at which byte.
struct Wrong {
    message: &'static str,
    at: usize,
}

struct Reader<'t> {
    text: &'t str,
    /// The byte that is looked at.
    at: usize,
}

impl<'t> Reader<'t> {
    fn value(&mut self, depth: usize) -> Result<Value, Wrong> {
        match self.peek() {
            _ if depth > DEPTH_MAX => Err(self.wrong("Nested too deeply")),
            Some(b'"') => self.string().map(Value::Str),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'0'..=b'9' | b'-') => match self.number() {
                Some(number) => Ok(number),
                None => self.word(),
            },
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Wrong> {
        let rest = self.rest();
        let words = [
            ("null", Value::Nil),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("NaN", Value::Float(f64::NAN)),
            ("Infinity", Value::Float(f64::INFINITY)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
        ];
        let found = words.into_iter().find(|(word, _)| rest.starts_with(word));
        let (word, value) = found.ok_or_else(|| self.wrong("Expecting value"))?;
        self.at += word.len();
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Value, Wrong> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.eat(b']') {
            return Ok(items.into());
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.eat(b']') {
                return Ok(items.into());
            }
            if !self.eat(b',') {
                return Err(self.wrong("Expecting ',' delimiter"));
            }
            self.blanks();
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Wrong> {
        self.at += 1;
        let mut map = Map::new();
        self.blanks();
        if self.eat(b'}') {
            return Ok(map.into());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.wrong("Expecting property name enclosed in double quotes"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.eat(b':') {
                return Err(self.wrong("Expecting ':' delimiter"));
            }
            self.blanks();
            map.insert(key, self.value(depth + 1)?);
            self.blanks();
            if self.eat(b'}') {
                return Ok(map.into());
            }
            if !self.eat(b',') {
                return Err(self.wrong("Expecting ',' delimiter"));
            }
            self.blanks();
        }
    }

    /// A number; nothing where there is none, or none that a value can hold.
    fn number(&mut self) -> Option<Value> {
        let rest = self.rest();
        let digits = |from: usize| {
            let rest = rest.as_bytes().get(from..).unwrap_or_default();
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let byte = |at: usize| rest.as_bytes().get(at).copied();
        let sign = usize::from(byte(0) == Some(b'-'));
        let mut end = sign
            + match byte(sign)? {
                b'0' => 1,
                b'1'..=b'9' => digits(sign),
                _ => return None,
            };
        let whole = end;
        if byte(end) == Some(b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(byte(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(byte(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let text = rest.get(..end)?;
        let number = if end > whole {
            Value::Float(text.parse().ok()?)
        } else {
            Value::Int(text.parse().ok()?)
        };
        self.at += end;
        Some(number)
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let plain = rest
                .bytes()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let (text, special) = rest.split_at(plain.unwrap_or(rest.len()));
            out.push_str(text);
            self.at += text.len();
            match special.as_bytes().first() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape(start)?),
                Some(_) => return Err(self.wrong("Invalid control character at")),
                None => {
                    return Err(Wrong {
                        message: UNTERMINATED,
                        at: start,
                    });
                }
            }
        }
    }

    /// What a backslash and what follows it stand for, in the text that begins
    /// at `start`. A half of a pair of surrogates stands for U+FFFD: no text
    /// here can hold it.
    fn escape(&mut self, start: usize) -> Result<char, Wrong> {
        let Some(kind) = self.text.as_bytes().get(self.at + 1) else {
            return Err(Wrong {
                message: UNTERMINATED,
                at: start,
            });
        };
        let char = match kind {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => char::from(*kind),
            b'u' => {
                let Some(unit) = self.unit() else {
                    return Err(Wrong {
                        message: "Invalid \\uXXXX escape",
                        at: self.at + 1,
                    });
                };
                let is_high = (0xd800..0xdc00).contains(&unit);
                let low = if is_high && self.rest().starts_with("\\u") {
                    let at = self.at;
                    let low = self.unit().filter(|low| (0xdc00..0xe000).contains(low));
                    if low.is_none() {
                        self.at = at;
                    }
                    low
                } else {
                    None
                };
                let code = match low {
                    Some(low) => 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                    None => unit,
                };
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => return Err(self.wrong("Invalid \\escape")),
        };
        self.at += 2;
        Ok(char)
    }

    /// The number of a `\uXXXX`, which is then behind us.
    fn unit(&mut self) -> Option<u32> {
        let hex = self.text.get(self.at + 2..self.at + 6)?;
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 6;
        u32::from_str_radix(hex, 16).ok()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong(&self, message: &'static str) -> Wrong {
        Wrong {
            message,
            at: self.at,
        }
    }
}

const UNTERMINATED: &str = "Unterminated string starting at";

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(text)
            .map_err(|error| error.to_string())
            .err()
            .unwrap_or_default()
    }

    #[test]
    fn the_words_are_those_of_python() {
        // From json.loads of CPython 3.11.
        for (text, wanted) in [
            ("", "Expecting value: line 1 column 1 (char 0)"),
            (
                "{",
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
            ),
            (
                "{\"a\"}",
                "Expecting ':' delimiter: line 1 column 5 (char 4)",
            ),
            (
                "{\"a\": 1 \"b\"",
                "Expecting ',' delimiter: line 1 column 9 (char 8)",
            ),
            ("[1,\n x]", "Expecting value: line 2 column 2 (char 5)"),
            (
                "\"ab",
                "Unterminated string starting at: line 1 column 1 (char 0)",
            ),
            ("1 2", "Extra data: line 1 column 3 (char 2)"),
            ("\"\\q\"", "Invalid \\escape: line 1 column 2 (char 1)"),
            ("01", "Extra data: line 1 column 2 (char 1)"),
            ("-", "Expecting value: line 1 column 1 (char 0)"),
            ("nul", "Expecting value: line 1 column 1 (char 0)"),
            ("1.", "Extra data: line 1 column 2 (char 1)"),
            ("[1,]", "Expecting value: line 1 column 4 (char 3)"),
            ("[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"),
            (
                "{\"a\":1 ,  }",
                "Expecting property name enclosed in double quotes: line 1 column 11 (char 10)",
            ),
            (
                "[\"\\ud83d\\u00\"]",
                "Invalid \\uXXXX escape: line 1 column 10 (char 9)",
            ),
            (
                "\"\\u12g4\"",
                "Invalid \\uXXXX escape: line 1 column 3 (char 2)",
            ),
            (
                "\"a\nb\"",
                "Invalid control character at: line 1 column 3 (char 2)",
            ),
        ] {
            assert_eq!(error(text), wanted, "{text}");
        }
    }

    #[test]
    fn all_kinds_are_read() {
        let text = " {\"a\": [1.5e3, -0, NaN, -Infinity, true, {}], \"b\": null, \"a\\/\\n\": []} ";
        let map = Map::from([
            (
                "a",
                Value::from(vec![
                    Value::from(1500.0),
                    Value::from(0),
                    Value::from(f64::NAN),
                    Value::from(f64::NEG_INFINITY),
                    Value::from(true),
                    Map::new().into(),
                ]),
            ),
            ("b", Value::Nil),
            ("a/\n", Value::from(Vec::<Value>::new())),
        ]);
        assert_eq!(read(text).unwrap(), map.into());
        assert_eq!(
            read("[18446744073709551616, 1E2]").unwrap(),
            vec![Value::Int(18_446_744_073_709_551_616), 100.0.into()].into()
        );
    }

    #[test]
    fn surrogates_make_a_character_or_stand_for_none() {
        assert_eq!(read(r#""\ud83d\ude00\u00e4""#).unwrap(), "😀ä".into());
        assert_eq!(read(r#""\ud83d\u0041""#).unwrap(), "\u{fffd}A".into());
        assert_eq!(read(r#""\ud83d""#).unwrap(), "\u{fffd}".into());
    }

    #[test]
    fn nesting_ends_with_an_error() {
        let deep = "[".repeat(1_000_000);
        assert!(error(&deep).starts_with("Nested too deeply"));
    }
}
