//! `state_compress_ids`: the states of an id with several names become one
//! entry per result.

use std::collections::HashMap;

use halite_proto::{Map, Value};

use super::fields::SEPARATOR;
use crate::python;

/// Marks the name of an entry that stands for several.
pub(super) const COMPRESSED: &str = "state_compressed_";

/// The data with such entries, or `None` where it is not made of states.
pub(super) fn compressed(hosts: &Map) -> Option<Map> {
    let mut out = Map::new();
    for (id, states) in hosts {
        out.insert(id.clone(), host(states.as_map()?)?);
    }
    Some(out)
}

fn host(states: &Map) -> Option<Map> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (tag, state) in states {
        *counts.entry(group(tag.as_str()?, state)?).or_default() += 1;
    }
    let mut out = Map::new();
    for (tag, state) in states {
        let text = tag.as_str()?;
        let count = counts.get(&group(text, state)?).copied().unwrap_or(1);
        if count == 1 {
            out.insert(tag.clone(), state.clone());
            continue;
        }
        let tag = compressed_tag(text, state, count)?;
        match out.get_mut(&tag) {
            Some(first) => merge(first.as_map_mut()?, state.as_map()?)?,
            None => {
                out.insert(tag, state.clone());
            }
        }
    }
    Some(out)
}

/// What states must have in common to become one.
fn group(tag: &str, state: &Value) -> Option<String> {
    let module = tag.split(SEPARATOR).next()?;
    let field = |name| state.get(name).map(python::str);
    Some(format!(
        "{module}_{}_{}_{}",
        field("__id__")?,
        field("__sls__")?,
        field("result")?
    ))
}

fn compressed_tag(tag: &str, state: &Value, count: usize) -> Option<String> {
    let field = |name| state.get(name).map(python::str);
    let id = field("__id__")?;
    let name = format!(
        "{COMPRESSED}{}_{id}_{}",
        field("__sls__")?,
        field("result")?
    );
    let shown = format!("{id} ({count})");
    let mut parts: Vec<&str> = tag.split(SEPARATOR).collect();
    *parts.get_mut(1)? = &shown;
    *parts.get_mut(2)? = &name;
    Some(parts.join(SEPARATOR))
}

fn merge(into: &mut Map, state: &Map) -> Option<()> {
    for field in ["__run_num__", "start_time"] {
        let mut both = [into.get(field)?.clone(), state.get(field)?.clone()];
        python::sort_by_key(&mut both, |value| value).then_some(())?;
        let [least, _] = both;
        into.insert(field, least);
    }
    let durations = [into.get("duration")?, state.get("duration")?];
    let sum = match durations {
        [Value::Int(a), Value::Int(b)] => Value::Int(a + b),
        [a, b] => {
            let sum = a.as_f64()? + b.as_f64()?;
            Value::Float(format!("{sum:.3}").parse().ok()?)
        }
    };
    into.insert("duration", sum);

    let changes = state.get("changes").filter(|changes| changes.is_true());
    let Some(changes) = changes else {
        return Some(());
    };
    let name = state.get("name")?.clone();
    let mut all = Map::new();
    let first = into.get("changes").filter(|changes| changes.is_true());
    if let Some(first) = first {
        match first.get(ALL_CHANGES).and_then(Value::as_map) {
            Some(known) if !known.is_empty() => all = known.clone(),
            _ => {
                all.insert(into.get("name")?.clone(), first.clone());
            }
        }
    }
    all.insert(name, changes.clone());
    into.insert("changes", Map::from([(ALL_CHANGES, all)]));
    Some(())
}

/// The key under which the changes of all names are.
pub(super) const ALL_CHANGES: &str = "compressed changes";
