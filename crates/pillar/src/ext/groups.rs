//! `nodegroups`: the node groups of a minion.
//!
//! Mirrors `salt/pillar/nodegroups.py` (3008.5). Invariant: a group that cannot be
//! parsed matches no minion.

use halite_proto::{Map, Value};
use halite_target::{DEFAULT_DELIMITER, Reading, Subject, Target};

use super::Externals;
use crate::request::Request;

/// The key in the pillar, unless another one is asked for.
const KEY: &str = "nodegroups";

/// The key that `pillar_name`, or the only argument, asks for.
pub(super) fn key(arguments: &Value) -> String {
    let name = match arguments {
        Value::Map(named) => named.get("pillar_name"),
        Value::List(items) => items.first(),
        one => Some(one),
    };
    name.filter(|name| name.is_true())
        .map_or_else(|| KEY.to_owned(), halite_yaml::python_str)
}

/// The groups of the minion in the order of the options.
pub(super) fn own_groups(at: &Externals<'_>, key: &str) -> Map {
    let groups = at.nodegroups.into_iter().flat_map(Map::keys);
    let own: Vec<Value> = groups
        .filter(|group| group.as_str().is_some_and(|group| is_in_group(group, at)))
        .cloned()
        .collect();
    Map::from([(key, own)])
}

struct Minion<'a>(&'a Request);

impl Subject for Minion<'_> {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn grains(&self) -> Option<&Map> {
        Some(&self.0.grains)
    }

    fn pillar(&self) -> Option<&Map> {
        Some(&self.0.held)
    }
}

/// Whether the minion is in a node group by what it says of itself.
pub(super) fn is_in_group(group: &str, at: &Externals<'_>) -> bool {
    let Some(groups) = at.nodegroups.filter(|groups| groups.contains_key(group)) else {
        return false;
    };
    let reading = Reading {
        delimiter: DEFAULT_DELIMITER,
        nodegroups: Some(groups),
        ranges: Some(at.range_server),
    };
    match Target::parse_with(&group.into(), "nodegroup", &reading) {
        Ok(target) => target.matches(&Minion(at.request)),
        Err(error) => {
            tracing::error!(group, "a node group cannot be parsed: {error}");
            false
        }
    }
}
