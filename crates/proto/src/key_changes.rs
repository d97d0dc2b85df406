//! How a master came by its key: its earlier keys, each with its signature over the
//! next one.
//!
//! A master sends them in the answer to a sign-in of a minion that trusts another
//! key; Salt's minions never see them. Invariant: what is read is bounded.

use crate::{Map, Value};

/// The field of the answer.
pub const KEY_CHANGES: &str = "halite_key_changes";

/// Changes that are kept and told at most, the newest.
pub const KEY_CHANGES_MAX: usize = 16;

/// Longest text of a key or a signature.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// One change of a master's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The public key before it.
    pub old_key: String,
    /// That key's signature over the public key after it, in base64.
    pub signature: String,
}

/// The changes as they are sent, the oldest first.
pub fn to_value(changes: &[KeyChange]) -> Value {
    let one = |change: &KeyChange| {
        Value::Map(Map::from([
            ("key", change.old_key.as_str()),
            ("signature", change.signature.as_str()),
        ]))
    };
    Value::List(changes.iter().map(one).collect())
}

/// The changes in the fields of an answer; none where they cannot be read.
pub fn from_extra(extra: &Map) -> Vec<KeyChange> {
    let text = |change: &Value, name: &str| {
        let text = change.get(name)?.as_str()?;
        (text.len() <= TEXT_BYTES_MAX).then(|| text.to_owned())
    };
    let Some(Value::List(changes)) = extra.get(KEY_CHANGES) else {
        return Vec::new();
    };
    let one = |change: &Value| {
        Some(KeyChange {
            old_key: text(change, "key")?,
            signature: text(change, "signature")?,
        })
    };
    if changes.len() > KEY_CHANGES_MAX {
        return Vec::new();
    }
    changes
        .iter()
        .map(one)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written_within_bounds() {
        let change = KeyChange {
            old_key: "k".into(),
            signature: "s".into(),
        };
        let sent =
            |changes: &[KeyChange]| from_extra(&Map::from([(KEY_CHANGES, to_value(changes))]));
        assert_eq!(sent(&[change.clone(), change.clone()]).len(), 2);
        assert!(sent(&vec![change.clone(); KEY_CHANGES_MAX + 1]).is_empty());
        let long = KeyChange {
            old_key: "k".repeat(TEXT_BYTES_MAX + 1),
            ..change
        };
        assert!(sent(&[long]).is_empty());
        assert!(from_extra(&Map::from([(KEY_CHANGES, "x")])).is_empty());
    }
}
