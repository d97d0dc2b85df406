//! The recorded events, in a file beside the script.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shape::Shape;

/// The streams of actions, by their names.
pub(crate) type Streams = BTreeMap<String, Vec<Shape>>;

/// The streams of a file; an absent one holds nothing.
pub(crate) fn read(path: &Path) -> Result<Streams> {
    if !path.exists() {
        return Ok(Streams::new());
    }
    let text = fs::read_to_string(path)?;
    let actions: BTreeMap<String, Vec<Vec<Value>>> = serde_json::from_str(&text)
        .with_context(|| format!("could not read {}", path.display()))?;
    let shapes = |groups: Vec<Vec<Value>>| {
        let numbered = groups.into_iter().enumerate();
        let of_groups = numbered.flat_map(|(at, group)| {
            group
                .into_iter()
                .filter_map(move |event| Shape::from_json(&event, at))
        });
        of_groups.collect()
    };
    Ok(actions
        .into_iter()
        .map(|(name, groups)| (name, shapes(groups)))
        .collect())
}

/// Writes a file, a line for each event.
pub(crate) fn write(path: &Path, streams: &Streams) -> Result<()> {
    let mut text = "{".to_owned();
    for (at, (name, shapes)) in streams.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma}\n{}: [", Value::from(name.as_str()))?;
        let written = |group: &Vec<&Shape>| {
            let events = group.iter().map(|event| event.to_json().to_string());
            events.collect::<Vec<_>>().join(",\n  ")
        };
        let mut groups: Vec<String> = groups(shapes).iter().map(written).collect();
        // What is about different things comes in no order of its own.
        groups.sort();
        for (at, group) in groups.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(text, "{comma}\n [{group}]")?;
        }
        text.push(']');
    }
    text.push_str("\n}\n");
    fs::write(path, text).with_context(|| format!("could not write {}", path.display()))
}

/// Events about one thing together, in their order.
pub(crate) fn groups(shapes: &[Shape]) -> Vec<Vec<&Shape>> {
    let mut groups: Vec<Vec<&Shape>> = Vec::new();
    for shape in shapes {
        let known = groups.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.about == shape.about)
        });
        match known {
            Some(group) => group.push(shape),
            None => groups.push(vec![shape]),
        }
    }
    groups
}
