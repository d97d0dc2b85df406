//! Options whose values are addresses of `sdb`: the stored values replace them
//! before they get types, as in Salt.
//!
//! Invariant: without such a value nothing is asked, and a store that does not
//! answer is an error, not an endless wait.

use halite_proto::{Map, Value};
use halite_yaml::{Node, NodeKind};

use crate::entry::Entry;
use crate::error::{BehindError, ConfigError, Warning};
use crate::files::node_of;

const SCHEME: &str = "sdb://";

/// Grains stay as they are written: Salt reads those of the configuration on
/// their own.
const AS_WRITTEN: &str = "grains";

/// Reads what is behind an address, with the other options of the files. An
/// address that names no profile is what is behind it.
pub type ReadBehind = fn(&Map, &str) -> Result<Value, BehindError>;

/// Whether a value is an address, or has one in it.
pub(crate) fn has_address(node: &Node) -> bool {
    match &node.value {
        NodeKind::Scalar(_) => address(node).is_some(),
        NodeKind::List(items) => items.iter().any(has_address),
        NodeKind::Map(entries) => entries.iter().any(|(_, value)| has_address(value)),
    }
}

/// The address that a value is.
pub(crate) fn address(node: &Node) -> Option<&str> {
    node.as_str().filter(|text| text.starts_with(SCHEME))
}

/// Whether anything is to be asked.
pub(crate) fn is_needed(entries: &[Entry]) -> bool {
    entries.iter().any(is_meant)
}

fn is_meant(entry: &Entry) -> bool {
    entry.name != AS_WRITTEN && has_address(&entry.value)
}

/// The options that are what they are.
pub(crate) fn without(entries: &[Entry]) -> Vec<Entry> {
    let plain = entries.iter().filter(|entry| !is_meant(entry));
    plain.cloned().collect()
}

/// Puts what is behind addresses in their place. One that cannot be read is
/// nothing, with a warning; an option of ours has its default then.
///
/// # Errors
/// When a store does not answer.
pub(crate) fn replace(
    entries: &mut Vec<Entry>,
    read: &dyn Fn(&str) -> Result<Value, BehindError>,
    ours: &[&str],
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    for entry in entries.iter_mut().filter(|entry| is_meant(entry)) {
        let mut value = entry.value.clone();
        let mut places = Vec::new();
        put(&mut value, read, &mut places)?;
        for (at, text) in places {
            if let Some(source) = &entry.source {
                let place = source.place(at.span);
                warnings.push(Warning::Odd { place, text });
            }
        }
        entry.value = value;
        entry.was_behind = true;
    }
    entries.retain(|entry| {
        !(entry.was_behind && entry.value.is_nil() && ours.contains(&entry.name.as_str()))
    });
    Ok(())
}

fn put(
    node: &mut Node,
    read: &dyn Fn(&str) -> Result<Value, BehindError>,
    places: &mut Vec<(Node, String)>,
) -> Result<(), ConfigError> {
    if let Some(address) = address(node).map(str::to_owned) {
        let found = match read(&address) {
            Ok(found) if found.as_str() == Some(&address) => {
                places.push((node.clone(), format!("{address} names no profile")));
                return Ok(());
            }
            Ok(found) => found,
            Err(BehindError::Late(seconds)) => {
                let source = BehindError::Late(seconds);
                return Err(ConfigError::Behind { address, source });
            }
            Err(error) => {
                places.push((node.clone(), format!("{address} {error}")));
                Value::Nil
            }
        };
        *node = Node {
            span: node.span,
            ..node_of(&found)
        };
        return Ok(());
    }
    match &mut node.value {
        NodeKind::Scalar(_) => Ok(()),
        NodeKind::List(items) => items
            .iter_mut()
            .try_for_each(|item| put(item, read, places)),
        NodeKind::Map(entries) => entries
            .iter_mut()
            .try_for_each(|(_, value)| put(value, read, places)),
    }
}
