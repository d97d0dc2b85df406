//! Lists of rights: a text in place of a list is refused, since Salt would take
//! its letters for entries.

use halite_proto::Value;
use halite_yaml::{Node, NodeKind};

use super::MasterConfig;
use crate::error::Faults;

/// Whether the entry of one user, minion or kind has the right form.
type IsRight = fn(&Node) -> bool;

/// Each of these options, what it holds, and what its entries must be.
const LISTS: &[(&str, &str, IsRight)] = &[
    (
        "publisher_acl",
        "a map of users to lists of functions",
        is_list,
    ),
    (
        "publisher_acl_blacklist",
        "a map with the lists users and modules",
        is_list,
    ),
    (
        "peer",
        "a map of minions to lists of functions",
        is_list_or_map,
    ),
    (
        "peer_run",
        "a map of minions to lists of functions",
        is_list_or_map,
    ),
];

const LOGINS: &str = "a map from ways to log in to users with lists of functions";

impl MasterConfig {
    /// Adds entries that are no lists to `faults`.
    pub(super) fn check_access(&self, faults: &mut Faults) {
        for (option, allowed, is_right) in LISTS {
            let wrong = self.raw.in_file(option).map(|(_, node)| node);
            let values = wrong.map(entries_of).unwrap_or_default().iter();
            let wrong = values
                .map(|(_, value)| value)
                .find(|value| !is_right(value));
            faults.add_some(wrong.and_then(|node| self.raw.wrong_node(option, node, allowed)));
        }
        let ways = self.raw.in_file("external_auth").map(|(_, node)| node);
        for (_, users) in ways.map(entries_of).unwrap_or_default() {
            let users = entries_of(users)
                .iter()
                .filter(|(user, _)| !is_setting(user));
            let wrong = users
                .map(|(_, rights)| rights)
                .find(|rights| !is_list(rights));
            let wrong = wrong.and_then(|node| self.raw.wrong_node("external_auth", node, LOGINS));
            faults.add_some(wrong);
        }
    }
}

/// Whether a name beside the users is a setting of the way to log in.
fn is_setting(name: &Node) -> bool {
    name.as_str().is_some_and(|name| name.starts_with('^'))
}

fn is_list(node: &Node) -> bool {
    matches!(node.value, NodeKind::List(_) | NodeKind::Scalar(Value::Nil))
}

fn is_list_or_map(node: &Node) -> bool {
    is_list(node) || matches!(node.value, NodeKind::Map(_))
}

fn entries_of(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        NodeKind::Map(entries) => entries,
        _ => &[],
    }
}
