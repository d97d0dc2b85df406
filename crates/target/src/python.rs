//! Values as Python's `str` writes them: grain and pillar targets are matched
//! against that text.

use std::fmt::Write;

use halite_proto::Value;

/// `str(value)`.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        other => {
            let mut out = String::new();
            write_repr(&mut out, other);
            out
        }
    }
}

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Nil => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Value::Float(float) => out.push_str(&float_text(*float)),
        Value::Str(text) => quote(out, text),
        Value::Bytes(bytes) => {
            let _ = write!(out, "b'{}'", bytes.escape_ascii());
        }
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_repr(out, key);
                out.push_str(": ");
                write_repr(out, item);
            }
            out.push('}');
        }
        Value::Ext(code, _) => {
            let _ = write!(out, "ext({code})");
        }
    }
}

fn quote(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    let text = format!("{float:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let digits = digits.trim_end_matches(".0");
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_proto::Map;

    #[test]
    fn values_are_written_as_in_python() {
        let map = Map::from([("a", Value::Nil), ("b'", Value::from("x\n"))]);
        for (value, expected) in [
            (Value::from("x"), "x"),
            (Value::Bool(true), "True"),
            (Value::from(1.0), "1.0"),
            (Value::from(1e16), "1e+16"),
            (Value::from(1.5e-7), "1.5e-07"),
            (Value::List(vec![1.into(), "x".into()]), "[1, 'x']"),
            (Value::Map(map), "{'a': None, \"b'\": 'x\\n'}"),
        ] {
            assert_eq!(text(&value), expected);
        }
    }
}
