//! The methods of text: case, padding, questions about characters.

use halite_proto::python;

use crate::error::{Error, ErrorKind, Result};
use crate::format::pad;
use crate::value::Value;

pub(super) fn call(text: &str, name: &str, pos: &[Value]) -> Result<Value> {
    Ok(match name {
        "lower" => Value::str(text.to_lowercase()),
        "casefold" => Value::str(text.to_lowercase().replace('ß', "ss")),
        "upper" => Value::str(text.to_uppercase()),
        "capitalize" => Value::str(capitalize(text)),
        "title" => Value::str(title(text)),
        "swapcase" => Value::str(
            text.chars()
                .map(|c| {
                    if c.is_uppercase() {
                        c.to_lowercase().to_string()
                    } else {
                        c.to_uppercase().to_string()
                    }
                })
                .collect::<String>(),
        ),
        "center" | "ljust" | "rjust" => {
            let width = pos
                .first()
                .ok_or_else(|| {
                    Error::of_type(format!("{name} expected at least 1 argument, got 0"))
                })?
                .want_int()?;
            let fill = match pos.get(1) {
                None => ' ',
                Some(fill) => {
                    let fill = fill.want_str("the fill character")?;
                    let mut chars = fill.chars();
                    match (chars.next(), chars.next()) {
                        (Some(c), None) => c,
                        _ => {
                            return Err(Error::of_type(
                                "The fill character must be exactly one character long",
                            ));
                        }
                    }
                }
            };
            Value::str(pad(text, width, fill, name)?)
        }
        "zfill" => {
            let width = pos.first().map_or(Ok(0), Value::want_int)?;
            let (sign, digits) = match text.chars().next() {
                Some('+' | '-') => text.split_at(1),
                _ => ("", text),
            };
            let width = width - i128::try_from(sign.len()).unwrap_or_default();
            Value::str(format!("{sign}{}", pad(digits, width, '0', "rjust")?))
        }
        _ => Value::Bool(is(text, name)?),
    })
}

fn is(text: &str, name: &str) -> Result<bool> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    let cased = |c: char| c.is_uppercase() || c.is_lowercase();
    Ok(match name {
        "isalnum" => all(char::is_alphanumeric),
        "isalpha" => all(char::is_alphabetic),
        "isascii" => text.is_ascii(),
        "isdecimal" => all(|c| c.is_numeric() && c.is_alphanumeric() && decimal(c)),
        "isdigit" => all(|c| decimal(c) || matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹')),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(char::is_whitespace),
        "isprintable" => text.chars().all(python::is_printable),
        "islower" => text.chars().any(cased) && !text.chars().any(char::is_uppercase),
        "isupper" => text.chars().any(cased) && !text.chars().any(char::is_lowercase),
        "isidentifier" => {
            text.chars()
                .next()
                .is_some_and(|c| c == '_' || c.is_alphabetic())
                && text.chars().all(|c| c == '_' || c.is_alphanumeric())
        }
        "istitle" => {
            let mut before = false;
            let mut any = false;
            for c in text.chars() {
                if c.is_uppercase() == before && cased(c) {
                    return Ok(false);
                }
                any |= cased(c);
                before = cased(c);
            }
            any
        }
        _ => return Err(super::unknown(name)),
    })
}

fn decimal(c: char) -> bool {
    c.is_ascii_digit()
        || matches!(u32::from(c), 0x660..=0x669 | 0x6f0..=0x6f9 | 0x966..=0x96f | 0xff10..=0xff19)
}

/// Python's `capitalize`.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(first) => first
            .to_uppercase()
            .chain(chars.as_str().to_lowercase().chars())
            .collect(),
    }
}

/// Python's `title`.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = c.is_alphabetic();
    }
    out
}

pub(super) fn expand_tabs(text: &str, size: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let blanks = size - column % size;
                out.push_str(&" ".repeat(blanks.min(1024)));
                column += blanks;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            c => {
                out.push(c);
                column += 1;
            }
        }
    }
    out
}

pub(super) fn encode(text: &str, encoding: &str) -> Result<Value> {
    let plain = encoding.to_lowercase().replace(['-', '_'], "");
    let limit = match plain.as_str() {
        "utf8" | "utf" => return Ok(Value::Bytes(text.as_bytes().into())),
        "ascii" => 0x80,
        "latin1" | "iso88591" => 0x100,
        _ => {
            let message = format!("unknown encoding: {encoding}");
            return Err(Error::new(ErrorKind::Value, message));
        }
    };
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|c| {
            u8::try_from(u32::from(c))
                .ok()
                .filter(|byte| u32::from(*byte) < limit)
        })
        .collect();
    let bytes = bytes.ok_or_else(|| {
        Error::new(
            ErrorKind::Unicode,
            format!("'{encoding}' codec can't encode text"),
        )
    })?;
    Ok(Value::Bytes(bytes.into()))
}
