//! The texts of the fields of a state's result.

use halite_proto::{Map, Value};

use super::CHANGES_INDENT;
use crate::{Unfit, python};

/// Between the parts of a state's name.
pub(super) const SEPARATOR: &str = "_|-";

/// The parts of a state's name, `module_|-id_|-name_|-function`.
pub(super) struct Names<'a> {
    pub(super) module: &'a str,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) function: &'a str,
    /// The last part; longer names have more than four.
    pub(super) last: &'a str,
}

impl<'a> Names<'a> {
    pub(super) fn parse(tag: &'a str) -> Result<Self, Unfit> {
        let parts: Vec<&str> = tag.split(SEPARATOR).collect();
        let [module, id, name, function, ..] = parts[..] else {
            return Err(Unfit);
        };
        Ok(Self {
            module,
            id,
            name,
            function,
            last: parts[parts.len() - 1],
        })
    }
}

/// The texts under `warnings`, one a line.
pub(super) fn warning_lines(state: &Map) -> Result<String, Unfit> {
    let warnings = state
        .get("warnings")
        .and_then(Value::as_list)
        .ok_or(Unfit)?;
    let texts: Option<Vec<&str>> = warnings.iter().map(Value::as_str).collect();
    Ok(texts.ok_or(Unfit)?.join("\n"))
}

/// The comment with what the state returned as data, below its first line
/// indented.
pub(super) fn comment(state: &Map) -> Result<String, Unfit> {
    let text = python::str(state.get("comment").ok_or(Unfit)?);
    let indent = format!("\n{}", " ".repeat(CHANGES_INDENT));
    let mut text = python::trim(&text).replace('\n', &indent);
    match state.get("data") {
        None => {}
        Some(Value::List(items)) => {
            for item in items {
                text.push(' ');
                text.push_str(&python::str(item));
            }
        }
        Some(Value::Map(map)) => {
            for (key, value) in map {
                text.push_str(&format!(
                    "\n\t\t{}: {}",
                    python::str(key),
                    python::str(value)
                ));
            }
        }
        Some(other) => {
            text.push(' ');
            text.push_str(&python::str(other));
        }
    }
    Ok(text)
}
