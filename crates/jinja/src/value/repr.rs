//! `str` and `repr` as CPython prints them.

use super::{Mapping, Object, Other, OtherKind, Set, Value, ViewKind};
use crate::error::{Error, Result};
use crate::limits;

/// Python's `str`.
pub(crate) fn text(value: &Value) -> Result<String> {
    match value {
        Value::Str(text) | Value::Markup(text) => Ok(text.to_string()),
        Value::Other(Other(OtherKind::Undefined(undefined))) => {
            undefined.used()?;
            Ok(String::new())
        }
        Value::Other(Other(OtherKind::Object(object))) => match &**object {
            Object::Module(module) => Ok(module.text().to_owned()),
            _ => repr(value),
        },
        other => repr(other),
    }
}

/// Python's `repr`.
pub(crate) fn repr(value: &Value) -> Result<String> {
    let mut out = String::new();
    write(value, &mut out, 0)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String, depth: u32) -> Result<()> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit(
            "data is nested too deeply to print, or holds itself",
        ));
    }
    if out.len() > MAX_BYTES {
        return Err(Error::limit("printed data is too large"));
    }
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(float) => out.push_str(&float_text(*float)),
        Value::Str(text) => out.push_str(&text_repr(text)),
        Value::Markup(text) => {
            out.push_str("Markup(");
            out.push_str(&text_repr(text));
            out.push(')');
        }
        Value::Bytes(bytes) => bytes_repr(bytes, out),
        Value::List(list) => sequence(&list.0.0.borrow(), "[", "]", out, depth)?,
        Value::Tuple(tuple) => {
            let items = &tuple.0.0;
            let end = if items.len() == 1 { ",)" } else { ")" };
            sequence(items, "(", end, out, depth)?;
        }
        Value::Dict(Mapping(cell)) => {
            out.push('{');
            for (index, (key, value)) in cell.0.borrow().iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(key.value(), out, depth + 1)?;
                out.push_str(": ");
                write(value, out, depth + 1)?;
            }
            out.push('}');
        }
        Value::Set(Set(cell)) => {
            let keys = cell.0.borrow().keys();
            if keys.is_empty() {
                out.push_str("set()");
            } else {
                sequence(&keys, "{", "}", out, depth)?;
            }
        }
        Value::Other(Other(kind)) => other(kind, out, depth)?,
    }
    Ok(())
}

fn other(kind: &OtherKind, out: &mut String, depth: u32) -> Result<()> {
    match kind {
        OtherKind::Undefined(_) => out.push_str("Undefined"),
        OtherKind::View(cell, view) => {
            let dict = cell.0.borrow();
            let (name, items) = match view {
                ViewKind::Keys => ("dict_keys([", dict.keys()),
                ViewKind::Values => ("dict_values([", dict.values()),
                ViewKind::Items => ("dict_items([", dict.items()),
            };
            sequence(&items, name, "])", out, depth)?;
        }
        OtherKind::Range(range) => {
            out.push_str(&format!("range({}, {}", range.start, range.stop));
            if range.step != 1 {
                out.push_str(&format!(", {}", range.step));
            }
            out.push(')');
        }
        OtherKind::Iter(iter) => out.push_str(&format!("<{} object>", iter.name())),
        OtherKind::Object(object) => match &**object {
            Object::Namespace(cell) => {
                out.push_str("<Namespace ");
                let dict = Value::Dict(Mapping(std::rc::Rc::clone(cell)));
                write(&dict, out, depth + 1)?;
                out.push('>');
            }
            Object::Group(grouper, items) => {
                sequence(&[grouper.clone(), items.clone()], "(", ")", out, depth)?;
            }
            Object::Macro(value) => match value.name() {
                Some(name) => out.push_str(&format!("<Macro {}>", text_repr(name))),
                None => out.push_str("<Macro anonymous>"),
            },
            Object::Function(name, _) => out.push_str(&format!("<function {name}>")),
            Object::Method(value, name) => out.push_str(&format!(
                "<built-in method {name} of {} object>",
                value.type_name()
            )),
            Object::Loop(state) => out.push_str(&state.text()),
            Object::SaltFunction(name) => out.push_str(&format!("<function {name}>")),
            other => out.push_str(&format!("<{}>", other.described())),
        },
    }
    Ok(())
}

fn sequence(items: &[Value], start: &str, end: &str, out: &mut String, depth: u32) -> Result<()> {
    out.push_str(start);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(item, out, depth + 1)?;
    }
    out.push_str(end);
    Ok(())
}

/// The `repr` of text.
pub(crate) fn text_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                match code {
                    0..=0xff => out.push_str(&format!("\\x{code:02x}")),
                    0x100..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                    _ => out.push_str(&format!("\\U{code:08x}")),
                }
            }
        }
    }
    out.push(quote);
    out
}

fn bytes_repr(bytes: &[u8], out: &mut String) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        b'"'
    } else {
        b'\''
    };
    out.push('b');
    out.push(quote.into());
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte if *byte == quote => {
                out.push('\\');
                out.push((*byte).into());
            }
            0x20..=0x7e => out.push((*byte).into()),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote.into());
}

/// Python's `str.isprintable` for one character, for the planes in use.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_control() || (c.is_whitespace() && c != ' ') {
        return false;
    }
    !matches!(u32::from(c),
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f
        | 0x202a..=0x202e | 0x2060..=0x206f | 0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb
        | 0xe0000..=0xe0fff | 0xf0000..=0x10_ffff)
}

/// A float as Python prints it: shortest digits that read back the same.
pub(crate) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{float}");
    if plain.contains('.') {
        plain
    } else {
        format!("{plain}.0")
    }
}

/// Characters of one printed value.
const MAX_BYTES: usize = 64 * 1024 * 1024;
