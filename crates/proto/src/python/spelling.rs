//! `repr()`, `str()` and the text of a float.

use std::fmt::Write;

use crate::value::Value;

/// Python's `repr(value)`.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

/// Python's `str(value)`: text stays itself, all else is `repr`.
pub fn str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        Value::Ext(DATETIME, data) => datetime(data).map_or_else(
            || repr(value),
            |[year, month, day, hour, minute, second, micro]| {
                let mut text =
                    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
                if micro != 0 {
                    let _ = write!(text, ".{micro:06}");
                }
                text
            },
        ),
        _ => repr(value),
    }
}

/// Python's `repr` of a float: the shortest digits that read back the same,
/// with an exponent below 1e-4 and from 1e16 on.
pub fn float_repr(float: f64) -> String {
    const EXPONENT_MIN: i32 = -4;
    const EXPONENT_END: i32 = 16;
    if float.is_nan() {
        return "nan".to_owned();
    }
    let sign = if float.is_sign_negative() { "-" } else { "" };
    if float.is_infinite() {
        return format!("{sign}inf");
    }
    // Rust's shortest digits are the same as CPython's; only the layout is not.
    let scientific = format!("{:e}", float.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(EXPONENT_MIN..EXPONENT_END).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!(
            "{sign}{first}{point}{rest}e{exponent_sign}{:02}",
            exponent.abs()
        );
    }
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = usize::try_from(exponent).unwrap_or(0) + 1;
    if digits.len() <= whole {
        let zeros = "0".repeat(whole - digits.len());
        format!("{sign}{digits}{zeros}.0")
    } else {
        let (before, behind) = digits.split_at(whole);
        format!("{sign}{before}.{behind}")
    }
}

/// Python's `repr` of a text.
pub fn str_repr(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}

/// Code of the msgpack extension that carries a date and time.
const DATETIME: i8 = 78;

fn write_repr(out: &mut String, value: &Value) {
    match value {
        Value::Nil => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Value::Float(float) => out.push_str(&float_repr(*float)),
        Value::Str(text) => write_str(out, text),
        Value::Bytes(bytes) => write_bytes(out, bytes),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(out, item);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(out, key);
                out.push_str(": ");
                write_repr(out, value);
            }
            out.push('}');
        }
        Value::Ext(code, data) => match (*code, datetime(data)) {
            (DATETIME, Some(parts)) => write_datetime(out, parts),
            _ => write_bytes(out, data),
        },
    }
}

/// Python picks `'` unless only `"` saves escaping.
fn quote(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

fn write_str(out: &mut String, text: &str) {
    let quote = quote(text.contains('\''), text.contains('"'));
    out.push(quote);
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if char == quote => {
                out.push('\\');
                out.push(char);
            }
            _ if is_printable(char) => out.push(char),
            _ => {
                let code = u32::from(char);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Python's `repr` of bytes.
pub fn bytes_repr(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 3);
    write_bytes(&mut out, bytes);
    out
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = quote(bytes.contains(&b'\''), bytes.contains(&b'"'));
    out.push('b');
    out.push(quote);
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ if char::from(*byte) == quote => {
                out.push('\\');
                out.push(quote);
            }
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push(quote);
}

/// Python's `str.isprintable()` of one character. Rust's `escape_debug` draws the
/// same line, except that it escapes quotes and a backslash, and a combining mark
/// at the start of a text.
pub fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        return matches!(char, ' '..='~');
    }
    let text: String = ['a', char].into_iter().collect();
    text.escape_debug().nth(1) == Some(char)
}

/// The parts of `%Y%m%dT%H:%M:%S.%f`, how a date and time travels.
fn datetime(data: &[u8]) -> Option<[u32; 7]> {
    let text = std::str::from_utf8(data).ok()?;
    let shape = text
        .bytes()
        .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    if !shape.eq(*b"00000000T00:00:00.000000") {
        return None;
    }
    let part = |from: usize, to: usize| text.get(from..to)?.parse().ok();
    Some([
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(9, 11)?,
        part(12, 14)?,
        part(15, 17)?,
        part(18, 24)?,
    ])
}

fn write_datetime(out: &mut String, [year, month, day, hour, minute, second, micro]: [u32; 7]) {
    let _ = write!(
        out,
        "datetime.datetime({year}, {month}, {day}, {hour}, {minute}"
    );
    if second != 0 || micro != 0 {
        let _ = write!(out, ", {second}");
    }
    if micro != 0 {
        let _ = write!(out, ", {micro}");
    }
    out.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[test]
    fn floats_are_spelled_as_by_cpython() {
        for (float, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e16, "1.25e+16"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float_repr(float), text);
        }
    }

    #[test]
    fn text_is_quoted_and_escaped_as_by_cpython() {
        for (text, expect) in [
            ("", "''"),
            ("a'b", "\"a'b\""),
            ("a'b\"", "'a\\'b\"'"),
            ("a\"b", "'a\"b'"),
            ("\\\n\r\t\x07\x7f", "'\\\\\\n\\r\\t\\x07\\x7f'"),
            ("ž☃\u{301}", "'ž☃\u{301}'"),
            ("\u{301}", "'\u{301}'"),
            ("\u{a0}\u{ad}\u{85}", "'\\xa0\\xad\\x85'"),
            ("\u{2028}\u{feff}", "'\\u2028\\ufeff'"),
            ("\u{e0001}\u{1f600}", "'\\U000e0001\u{1f600}'"),
        ] {
            assert_eq!(str_repr(text), expect);
        }
        let bytes = Value::Bytes(b"a'\xff\0\n".to_vec());
        assert_eq!(repr(&bytes), "b\"a'\\xff\\x00\\n\"");
    }

    #[test]
    fn containers_and_dates() {
        let value = Value::from(Map::from([
            (
                Value::from(1),
                Value::from(vec![Value::Nil, Value::from(true)]),
            ),
            (
                Value::from("d"),
                Value::Ext(78, b"20260102T03:04:00.000000".to_vec()),
            ),
            (
                Value::from("e"),
                Value::Ext(78, b"20260102T03:04:05.000006".to_vec()),
            ),
        ]));
        assert_eq!(
            repr(&value),
            "{1: [None, True], 'd': datetime.datetime(2026, 1, 2, 3, 4), \
             'e': datetime.datetime(2026, 1, 2, 3, 4, 5, 6)}"
        );
        let date = Value::Ext(78, b"20260102T03:04:00.000000".to_vec());
        assert_eq!(str(&date), "2026-01-02 03:04:00");
    }
}
