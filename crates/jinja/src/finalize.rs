//! Salt's conversion of a value before it is printed: maps print so that YAML reads
//! the same text back, also with newlines and tabs.

use crate::error::{Error, Result};
use crate::limits;
use crate::value::{List, Mapping, Set, Tuple, Value, repr, text as plain_text};

/// The printed text of a value.
pub(crate) fn text(value: &Value) -> Result<String> {
    let mut out = String::new();
    match value {
        Value::Dict(map) => mapping(map, &mut out, 0)?,
        Value::List(_) | Value::Tuple(_) | Value::Set(_) => nested(value, &mut out, 0)?,
        other => return plain_text(other),
    }
    Ok(out)
}

fn nested(value: &Value, out: &mut String, depth: u32) -> Result<()> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit(
            "data is nested too deeply to print, or holds itself",
        ));
    }
    value.see()?;
    if out.len() > limits::TEXT_BYTES_MAX {
        return Err(Error::long_text());
    }
    match value {
        Value::Dict(map) => mapping(map, out, depth)?,
        Value::List(List(cell)) => sequence(&cell.0.borrow(), ("[", "]"), out, depth)?,
        Value::Tuple(Tuple(cell)) => {
            let end = if cell.0.len() == 1 { ",)" } else { ")" };
            sequence(&cell.0, ("(", end), out, depth)?;
        }
        Value::Set(Set(cell)) if !cell.0.borrow().is_empty() => {
            sequence(&cell.0.borrow().keys(), ("{", "}"), out, depth)?;
        }
        other => out.push_str(&repr(other)?),
    }
    Ok(())
}

fn sequence(
    items: &[Value],
    (start, end): (&str, &str),
    out: &mut String,
    depth: u32,
) -> Result<()> {
    out.push_str(start);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        nested(item, out, depth + 1)?;
    }
    out.push_str(end);
    Ok(())
}

fn mapping(Mapping(cell): &Mapping, out: &mut String, depth: u32) -> Result<()> {
    out.push('{');
    for (index, (key, value)) in cell.0.borrow().iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        if out.len() > limits::TEXT_BYTES_MAX {
            return Err(Error::long_text());
        }
        value.see()?;
        out.push_str(&repr(key.value())?);
        out.push_str(": ");
        match value {
            Value::Str(text) | Value::Markup(text) if text.contains(['\n', '\r', '\t']) => {
                out.push_str(&quoted(text));
            }
            Value::Dict(_) | Value::List(_) | Value::Tuple(_) | Value::Set(_) => {
                nested(value, out, depth + 1)?;
            }
            other => out.push_str(&repr(other)?),
        }
    }
    out.push('}');
    Ok(())
}

/// A double quoted YAML scalar as PyYAML writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{85}' => out.push_str("\\N"),
            '\u{a0}' => out.push_str("\\_"),
            '\u{2028}' => out.push_str("\\L"),
            '\u{2029}' => out.push_str("\\P"),
            c if c.is_control() || c == '\u{feff}' => {
                let code = u32::from(c);
                if code < 0x100 {
                    out.push_str(&format!("\\x{code:02X}"));
                } else {
                    out.push_str(&format!("\\u{code:04X}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
