//! Which declarations of an SLS are one object, because YAML aliases make
//! them so.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use halite_proto::Value;
use halite_render::{Node, NodeKind};
use halite_state::source::Shared;

/// The ids, and the states under them, that share an object with another one.
pub(super) fn shared(root: &Node) -> Shared {
    let mut groups: BTreeMap<NonZeroU32, Vec<Vec<Value>>> = BTreeMap::new();
    for (id, body) in entries(root) {
        if let Some(number) = body.shared {
            groups.entry(number).or_default().push(vec![id.to_value()]);
        }
        for (state, args) in entries(body) {
            if let Some(number) = args.shared {
                let path = vec![id.to_value(), state.to_value()];
                groups.entry(number).or_default().push(path);
            }
        }
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

fn entries(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        NodeKind::Map(entries) => entries,
        _ => &[],
    }
}
