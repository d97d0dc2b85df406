//! Parts of one SLS that a YAML alias makes one object. In Salt, appending to one
//! of them appends to all: a shared list of arguments gets the function once for
//! each state that uses it, and one number.

use halite_proto::{Map, Value};

use crate::source::Shared;

/// Where a shared part is: an id, or an id and a state module.
#[derive(Clone, Debug, PartialEq)]
struct Path {
    id: Value,
    module: Option<String>,
}

/// The groups of shared parts.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Vec<Path>>);

impl Groups {
    pub(super) fn new(shared: &Shared) -> Self {
        let path = |path: &Vec<Value>| {
            let mut keys = path.iter();
            Some(Path {
                id: keys.next()?.clone(),
                module: keys.next().and_then(Value::as_str).map(str::to_owned),
            })
        };
        let groups = shared
            .iter()
            .map(|group| group.iter().filter_map(path).collect());
        Self(groups.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A state module of `id` has another name now.
    pub(super) fn renamed(&mut self, id: &Value, from: &str, to: &str) {
        for path in self.0.iter_mut().flatten() {
            if path.id == *id && path.module.as_deref() == Some(from) {
                path.module = Some(to.to_owned());
            }
        }
    }

    /// Appends to the lists that are one with that of `id` and `module`.
    pub(super) fn append(&self, state: &mut Map, id: &Value, module: &str, value: &Value) {
        let own = Path {
            id: id.clone(),
            module: Some(module.to_owned()),
        };
        for group in self.0.iter().filter(|group| group.contains(&own)) {
            for other in group.iter().filter(|other| **other != own) {
                push(state, &other.id, other.module.as_deref(), value);
            }
        }
    }

    /// Like [`Self::append`], and for bodies that are one as well.
    pub(super) fn append_in_bodies(
        &self,
        state: &mut Map,
        id: &Value,
        module: &str,
        value: &Value,
    ) {
        self.append(state, id, module, value);
        let own = Path {
            id: id.clone(),
            module: None,
        };
        for group in self.0.iter().filter(|group| group.contains(&own)) {
            for other in group.iter().filter(|other| **other != own) {
                push(state, &other.id, Some(module), value);
            }
        }
    }
}

fn push(state: &mut Map, id: &Value, module: Option<&str>, value: &Value) {
    let body = entry(state, id).and_then(Value::as_map_mut);
    let list = body.and_then(|body| body.get_mut(module?));
    if let Some(Value::List(list)) = list {
        list.push(value.clone());
    }
}

/// The value under a key of any kind, to change.
pub(super) fn entry<'m>(map: &'m mut Map, key: &Value) -> Option<&'m mut Value> {
    match key {
        Value::Str(key) => map.get_mut(key),
        other => map
            .iter_mut()
            .find_map(|(key, value)| (key == other).then_some(value)),
    }
}
