//! Which cluster a broker belongs to.

use halite_call::{Call, CallError, StateReturn, python};
use halite_proto::Map;

use super::ask;

pub(super) fn joined(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let state = StateReturn::of(call);
    let (user, host) = (call.text("user"), call.text("host"));
    let node = format!("{user}@{host}");
    let status = python::str(&ask(call, "cluster_status", &[])?);
    if names(&status, &node) {
        return Ok(state.ok("Already in cluster"));
    }
    let changed = |state: StateReturn| state.change("old", "").change("new", node.as_str());
    if call.is_test() {
        let comment = format!("Node is set to join cluster {node}");
        return Ok(changed(state.pending(comment)));
    }
    let mut kwargs = Map::new();
    for name in ["user", "ram_node", "runas"] {
        kwargs.insert(name, call.arg(name).clone());
    }
    let said = call.salt("rabbitmq.join_cluster", &[host.into()], kwargs)?;
    let said = said.get("Join").cloned().unwrap_or_default();
    Ok(changed(state.ok(said)))
}

/// Whether a node is named in a text, as a whole word.
fn names(text: &str, node: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "@.-_".contains(letter);
    text.split(|letter| !is_part(letter))
        .any(|word| word == node)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn nodes_are_whole_words() {
        let status = "[{nodes,[{disc,['rabbit@me',rabbit@master2]}]}]";
        assert!(names(status, "rabbit@me"));
        assert!(names(status, "rabbit@master2"));
        assert!(!names(status, "rabbit@master"));
    }
}
