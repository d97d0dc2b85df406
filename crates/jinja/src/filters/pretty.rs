//! Python's `pprint.pformat`: values wider than 80 columns are broken up.

use crate::error::{Error, Result};
use crate::limits;
use crate::value::{List, Mapping, Tuple, Value, repr, sort_by};

const WIDTH: usize = 80;

/// A value over several lines where it is wide.
pub(super) fn format(value: &Value) -> Result<String> {
    let mut out = String::new();
    write(value, &mut out, 0, 0, 0)?;
    Ok(out)
}

/// The `repr` with the keys of maps sorted.
fn flat(value: &Value, depth: u32) -> Result<String> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit("data is nested too deeply to print"));
    }
    value.see()?;
    let join = |items: &[Value]| -> Result<String> {
        let parts: Result<Vec<String>> = items.iter().map(|item| flat(item, depth + 1)).collect();
        Ok(parts?.join(", "))
    };
    Ok(match value {
        Value::List(List(cell)) => format!("[{}]", join(&cell.0.borrow())?),
        Value::Tuple(Tuple(cell)) => {
            let comma = if cell.0.len() == 1 { "," } else { "" };
            format!("({}{comma})", join(&cell.0)?)
        }
        Value::Dict(map) => {
            let mut parts = Vec::new();
            for (key, value) in sorted(map)? {
                parts.push(format!(
                    "{}: {}",
                    flat(&key, depth + 1)?,
                    flat(&value, depth + 1)?
                ));
            }
            format!("{{{}}}", parts.join(", "))
        }
        other => repr(other)?,
    })
}

fn sorted(Mapping(cell): &Mapping) -> Result<Vec<(Value, Value)>> {
    let dict = cell.0.borrow();
    let mut keys = dict.keys();
    // Keys without an order keep their places.
    let _ = sort_by(&mut keys, false, |key| Ok(key.clone()));
    if keys.len() != dict.len() {
        keys = dict.keys();
    }
    keys.into_iter()
        .map(|key| {
            let found = dict.get(&crate::value::Key::new(key.clone())?).cloned();
            Ok((key, found.unwrap_or(Value::None)))
        })
        .collect()
}

fn write(
    value: &Value,
    out: &mut String,
    indent: usize,
    allowance: usize,
    depth: u32,
) -> Result<()> {
    let text = flat(value, depth)?;
    if text.chars().count() + indent + allowance <= WIDTH {
        out.push_str(&text);
        return Ok(());
    }
    match value {
        Value::Dict(map) => {
            out.push('{');
            let entries = sorted(map)?;
            let last = entries.len().saturating_sub(1);
            for (index, (key, value)) in entries.into_iter().enumerate() {
                let key = flat(&key, depth + 1)?;
                if index > 0 {
                    out.push_str(&format!(",\n{}", " ".repeat(indent + 1)));
                }
                out.push_str(&format!("{key}: "));
                let inner = indent + key.chars().count() + 3;
                let allowance = if index == last { allowance + 1 } else { 1 };
                write(&value, out, inner, allowance, depth + 1)?;
            }
            out.push('}');
        }
        Value::List(List(cell)) => {
            sequence(&cell.0.borrow(), ("[", "]"), out, indent, allowance, depth)?
        }
        Value::Tuple(Tuple(cell)) => {
            let end = if cell.0.len() == 1 { ",)" } else { ")" };
            sequence(&cell.0, ("(", end), out, indent, allowance, depth)?;
        }
        _ => out.push_str(&text),
    }
    Ok(())
}

fn sequence(
    items: &[Value],
    (start, end): (&str, &str),
    out: &mut String,
    indent: usize,
    allowance: usize,
    depth: u32,
) -> Result<()> {
    out.push_str(start);
    let last = items.len().saturating_sub(1);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&format!(",\n{}", " ".repeat(indent + 1)));
        }
        let allowance = if index == last {
            allowance + end.len()
        } else {
            1
        };
        write(item, out, indent + 1, allowance, depth + 1)?;
    }
    out.push_str(end);
    Ok(())
}
