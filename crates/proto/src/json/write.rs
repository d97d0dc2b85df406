//! `json.dumps`.

use std::fmt::Write;

use crate::limits::DEPTH_MAX;
use crate::python;
use crate::value::{Map, Value};

/// How JSON is written; the default is that of `json.dumps`.
#[derive(Clone, Copy, Debug)]
pub struct Style<'s> {
    /// Blanks for each level; nothing: all on one line.
    pub indent: Option<usize>,
    /// Maps are sorted by their keys.
    pub sort_keys: bool,
    /// Characters beyond ASCII are escaped.
    pub ascii: bool,
    /// What stands between two items, and between a key and its value. Nothing:
    /// `", "` and `": "`, with a line break in the place of the first one's
    /// blank where there is an `indent`.
    pub separators: Option<(&'s str, &'s str)>,
    /// The text that stands for what JSON has no word for, bytes and dates.
    /// Nothing: they are an error.
    pub default: Option<fn(&Value) -> String>,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Self {
            indent: None,
            sort_keys: false,
            ascii: true,
            separators: None,
            default: None,
        }
    }
}

/// Data that JSON cannot hold, in Python's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// A key that is neither text, number, truth value nor nothing.
    #[error("keys must be str, int, float, bool or None, not {0}")]
    Key(&'static str),
    /// Keys that have no order among themselves.
    #[error("'<' not supported between instances of '{0}' and '{1}'")]
    Order(&'static str, &'static str),
    /// A value that JSON has no word for.
    #[error("Object of type {0} is not JSON serializable")]
    Kind(&'static str),
    /// Lists and maps in one another beyond the limit.
    #[error("nested too deeply")]
    Depth,
}

/// `json.dumps(data, ..)`.
///
/// # Errors
/// For data that JSON cannot hold.
pub fn write(data: &Value, style: Style<'_>) -> Result<String, Unwritable> {
    let (comma, colon) = style.separators.unwrap_or(match style.indent {
        Some(_) => (",", ": "),
        None => (", ", ": "),
    });
    let mut writer = Writer {
        style,
        comma,
        colon,
        out: String::new(),
    };
    writer.value(data, 0)?;
    Ok(writer.out)
}

struct Writer<'s> {
    style: Style<'s>,
    comma: &'s str,
    colon: &'s str,
    out: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Unwritable> {
        if depth > DEPTH_MAX {
            return Err(Unwritable::Depth);
        }
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(bool) => self.out.push_str(truth(*bool)),
            Value::Int(int) => {
                let _ = write!(self.out, "{int}");
            }
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::Str(text) => self.text(text),
            Value::List(items) => self.list(items, depth)?,
            Value::Map(map) => self.map(map, depth)?,
            Value::Bytes(_) | Value::Ext(..) => match self.style.default {
                Some(default) => self.text(&default(value)),
                None => return Err(Unwritable::Kind(value.type_name())),
            },
        }
        Ok(())
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Result<(), Unwritable> {
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            self.separate(index, depth + 1);
            self.value(item, depth + 1)?;
        }
        self.close(']', depth);
        Ok(())
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<(), Unwritable> {
        if map.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        self.out.push('{');
        if self.style.sort_keys {
            let entries = python::sorted(map).ok_or_else(|| unordered(map))?;
            self.entries(entries.into_iter(), depth)?;
        } else {
            self.entries(map.iter(), depth)?;
        }
        self.close('}', depth);
        Ok(())
    }

    fn entries<'v>(
        &mut self,
        entries: impl Iterator<Item = (&'v Value, &'v Value)>,
        depth: usize,
    ) -> Result<(), Unwritable> {
        for (index, (key, value)) in entries.enumerate() {
            self.separate(index, depth + 1);
            match key {
                Value::Str(text) => self.text(text),
                Value::Nil => self.out.push_str("\"null\""),
                Value::Bool(bool) => {
                    let _ = write!(self.out, "\"{}\"", truth(*bool));
                }
                Value::Int(int) => {
                    let _ = write!(self.out, "\"{int}\"");
                }
                Value::Float(number) => {
                    let _ = write!(self.out, "\"{}\"", float(*number));
                }
                other => return Err(Unwritable::Key(other.type_name())),
            }
            self.out.push_str(self.colon);
            self.value(value, depth + 1)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        write_text(&mut self.out, text, self.style.ascii);
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push_str(self.comma);
        }
        self.line_break(depth);
    }

    fn close(&mut self, bracket: char, depth: usize) {
        self.line_break(depth);
        self.out.push(bracket);
    }

    fn line_break(&mut self, depth: usize) {
        if let Some(spaces) = self.style.indent {
            self.out.push('\n');
            let mut left = spaces.saturating_mul(depth);
            while left > 0 {
                let some = BLANKS.get(..left).unwrap_or(BLANKS);
                self.out.push_str(some);
                left -= some.len();
            }
        }
    }
}

/// The two neighbours that Python finds it cannot compare.
fn unordered(map: &Map) -> Unwritable {
    let names: Vec<_> = map.keys().map(Value::type_name).collect();
    let pair = names.windows(2).find_map(|pair| match pair {
        [first, second] if first != second => Some((*second, *first)),
        _ => None,
    });
    let name = names.first().copied().unwrap_or_default();
    let (left, right) = pair.unwrap_or((name, name));
    Unwritable::Order(left, right)
}

pub(super) fn truth(bool: bool) -> &'static str {
    if bool { "true" } else { "false" }
}

/// A float as `json.dumps` writes it.
pub fn float(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned()
    } else {
        python::float_repr(number)
    }
}

/// A text in its quotes; with `ascii` all characters beyond that are escaped.
pub fn write_text(out: &mut String, text: &str, ascii: bool) {
    let is_escaped =
        |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f) || (ascii && !byte.is_ascii());
    out.push('"');
    // Nearly all texts are written as they are, and a look at all bytes at once
    // is faster than one that may end early.
    let mut rest = text;
    if !text.bytes().fold(false, |any, byte| any | is_escaped(byte)) {
        out.push_str(text);
        rest = "";
    }
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        match chars.next().unwrap_or_default() {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Indentation is written in pieces of this.
const BLANKS: &str = "                                                                ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_text_become_text_or_are_refused() {
        let map = Map::from([
            (Value::Nil, 1),
            (Value::from(true), 2),
            (Value::from(1.0), 3),
            (Value::from(7), 4),
        ]);
        let text = write(&map.into(), Style::default()).unwrap();
        assert_eq!(text, r#"{"null": 1, "true": 2, "1.0": 3, "7": 4}"#);
        let bytes = Map::from([(Value::Bytes(vec![0xff]), 1)]);
        assert_eq!(
            write(&bytes.into(), Style::default())
                .unwrap_err()
                .to_string(),
            "keys must be str, int, float, bool or None, not bytes"
        );
    }

    #[test]
    fn keys_are_sorted_as_python_sorts_them() {
        let sorted = Style {
            sort_keys: true,
            ..Style::default()
        };
        let numbers = Map::from([(Value::from(10), 1), (Value::from(9), 2)]);
        assert_eq!(
            write(&numbers.into(), sorted).unwrap(),
            r#"{"9": 2, "10": 1}"#
        );
        let mixed = Map::from([(Value::from("a"), 1), (Value::from(1), 1)]);
        assert_eq!(
            write(&mixed.into(), sorted).unwrap_err().to_string(),
            "'<' not supported between instances of 'int' and 'str'"
        );
    }

    #[test]
    fn layouts() {
        let data = Value::from(vec![
            Value::from(1),
            Map::from([("ä😀", Value::Nil)]).into(),
        ]);
        let written = |style| write(&data, style).unwrap();
        assert_eq!(
            written(Style::default()),
            r#"[1, {"\u00e4\ud83d\ude00": null}]"#
        );
        let dense = Style {
            separators: Some((",", ":")),
            ascii: false,
            ..Style::default()
        };
        assert_eq!(written(dense), r#"[1,{"ä😀":null}]"#);
        let indented = Style {
            indent: Some(2),
            ascii: false,
            ..Style::default()
        };
        assert_eq!(written(indented), "[\n  1,\n  {\n    \"ä😀\": null\n  }\n]");
    }

    #[test]
    fn what_json_has_no_word_for_is_given_one_or_refused() {
        let list = Value::from(vec![
            Value::Bytes(vec![0xff]),
            Value::from(f64::INFINITY),
            Value::from("\x01\x7f"),
        ]);
        let repr = Style {
            default: Some(python::repr),
            ..Style::default()
        };
        assert_eq!(
            write(&list, repr).unwrap(),
            "[\"b'\\\\xff'\", Infinity, \"\\u0001\x7f\"]"
        );
        assert_eq!(
            write(&list, Style::default()).unwrap_err(),
            Unwritable::Kind("bytes")
        );
    }

    #[test]
    fn nesting_ends_with_an_error() {
        let deep = (0..=DEPTH_MAX).fold(Value::Nil, |inner, _| vec![inner].into());
        assert_eq!(
            write(&deep, Style::default()).unwrap_err(),
            Unwritable::Depth
        );
    }
}
