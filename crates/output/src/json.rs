//! JSON as Python's `json.dumps(data, ensure_ascii=False, default=repr)` writes
//! it (`salt/output/json_out.py`, 3008.5).

use std::fmt::Write;

use halite_proto::{Map, Value};

use crate::{Indent, python};

const INDENT_DEFAULT: usize = 4;

/// Indentation is written in pieces of this.
const BLANKS: &str = "                                                                ";

/// A key that JSON has no way to write: Salt then prints an empty object.
struct Unwritable;

pub(crate) fn render(data: &Value, indent: Indent) -> String {
    let (indent, sorted) = match indent {
        Indent::Unset => (Some(INDENT_DEFAULT), false),
        Indent::Compact => (None, false),
        Indent::Spaces(spaces) => (Some(spaces), false),
        Indent::Pretty => (Some(INDENT_DEFAULT), true),
    };
    let mut writer = Writer {
        indent,
        sorted,
        out: String::new(),
    };
    match writer.value(data, 0) {
        Ok(()) => writer.out,
        Err(Unwritable) => "{}".to_owned(),
    }
}

struct Writer {
    indent: Option<usize>,
    sorted: bool,
    out: String,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Unwritable> {
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(bool) => self.out.push_str(if *bool { "true" } else { "false" }),
            Value::Int(int) => {
                let _ = write!(self.out, "{int}");
            }
            Value::Float(float) => self.out.push_str(&float_text(*float)),
            Value::Str(text) => write_text(&mut self.out, text),
            Value::Bytes(_) | Value::Ext(..) => write_text(&mut self.out, &python::repr(value)),
            Value::List(items) => self.list(items, depth)?,
            Value::Map(map) => self.map(map, depth)?,
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
        if self.sorted {
            let entries = python::sorted(map).ok_or(Unwritable)?;
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
                Value::Str(text) => write_text(&mut self.out, text),
                Value::Nil => self.out.push_str("\"null\""),
                Value::Bool(bool) => {
                    let _ = write!(self.out, "\"{bool}\"");
                }
                Value::Int(int) => {
                    let _ = write!(self.out, "\"{int}\"");
                }
                Value::Float(float) => {
                    let _ = write!(self.out, "\"{}\"", float_text(*float));
                }
                _ => return Err(Unwritable),
            }
            self.out.push_str(": ");
            self.value(value, depth + 1)?;
        }
        Ok(())
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(',');
            if self.indent.is_none() {
                self.out.push(' ');
            }
        }
        self.line_break(depth);
    }

    fn close(&mut self, bracket: char, depth: usize) {
        self.line_break(depth);
        self.out.push(bracket);
    }

    fn line_break(&mut self, depth: usize) {
        if let Some(spaces) = self.indent {
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

fn float_text(float: f64) -> String {
    if float.is_nan() {
        "NaN".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        python::float_repr(float)
    }
}

fn write_text(out: &mut String, text: &str) {
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
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_text_become_text_or_spoil_the_document() {
        let map = Map::from([
            (Value::Nil, 1),
            (Value::from(true), 2),
            (Value::from(1.0), 3),
            (Value::from(7), 4),
        ]);
        let text = render(&map.into(), Indent::Compact);
        assert_eq!(text, r#"{"null": 1, "true": 2, "1.0": 3, "7": 4}"#);
        let bytes = Map::from([(Value::Bytes(vec![0xff]), 1)]);
        assert_eq!(render(&bytes.into(), Indent::Unset), "{}");
        let mixed = Map::from([(Value::from(1), 1), (Value::from("a"), 1)]);
        assert_eq!(render(&mixed.into(), Indent::Pretty), "{}");
    }

    #[test]
    fn what_json_has_no_word_for_is_its_repr() {
        let list = vec![
            Value::Bytes(vec![0xff]),
            Value::from(f64::INFINITY),
            Value::from("\x01\x7f"),
        ];
        let text = render(&list.into(), Indent::Compact);
        assert_eq!(text, "[\"b'\\\\xff'\", Infinity, \"\\u0001\x7f\"]");
    }
}
