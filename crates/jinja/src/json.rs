//! JSON as Python's `json` writes and reads it.

use halite_proto::json::{self, float, write_text};

use crate::error::{Error, Result};
use crate::limits;
use crate::value::{Key, List, Mapping, Tuple, Value, repr, sort_by};

/// How JSON is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// Maps are sorted by key.
    pub(crate) sort_keys: bool,
    /// Columns per level; nothing: all on one line.
    pub(crate) indent: Option<usize>,
    /// Characters beyond ASCII are escaped.
    pub(crate) ascii: bool,
}

/// Writes a value.
pub(crate) fn dump(value: &Value, style: Style) -> Result<String> {
    let mut out = String::new();
    write(value, style, &mut out, 0)?;
    Ok(out)
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
    value.see()?;
    let separator = if style.indent.is_some() { "," } else { ", " };
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(number) => out.push_str(&float(*number)),
        Value::Str(text) | Value::Markup(text) => write_text(out, text, style.ascii),
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
                write_text(out, &key_text(&key)?, style.ascii);
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

fn key_text(key: &Value) -> Result<String> {
    Ok(match key {
        Value::Str(text) | Value::Markup(text) => text.to_string(),
        Value::None => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Float(number) => float(*number),
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

/// Reads JSON, or `None` if the text is not JSON.
pub(crate) fn load(text: &str) -> Option<Value> {
    let data = json::read(text).ok()?;
    Some(Value::from_data(&data))
}

/// What a wrong text is called in an error.
pub(crate) fn unable(value: &Value) -> Error {
    let shown = value
        .as_str()
        .map_or_else(|| repr(value).unwrap_or_default(), str::to_owned);
    Error::runtime(format!("Unable to load json from {shown}"))
}
