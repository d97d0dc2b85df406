//! Commands of this machine's users, before the workers decode them.
//!
//! Invariant: a key is only looked for here, and chooses a place in the queue; whether its
//! user may do that is decided where all commands are judged.

use crate::access::local_keys::LocalKeys;
use crate::core::lane::key_of_packed;
use crate::core::preferred_queue::Rank;

/// Commands with the key of a user of this machine go before those of which anybody may
/// be the sender.
pub(super) fn rank_of_command(keys: &LocalKeys, payload: &[u8]) -> Rank {
    match key_of_packed(payload).and_then(|key| keys.owner_of(key)) {
        Some(_) => Rank::Preferred,
        None => Rank::Other,
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::msgpack::pack_wire;
    use halite_proto::{Map, Value};

    use super::{LocalKeys, Rank, rank_of_command};
    use crate::access::local_keys::Holders;

    #[test]
    fn a_command_of_a_local_user_goes_before_those_of_strangers() {
        let dir = tempfile::tempdir().unwrap();
        let holders = Holders {
            configured: "root",
            running: "root",
            publisher_acl: &Map::new(),
            only_existing: true,
            system: &[],
        };
        let keys = LocalKeys::load(dir.path(), &holders).unwrap();
        let known = std::fs::read_to_string(dir.path().join(".root_key")).unwrap();
        let rank = |load: Map| {
            let envelope = Map::from([("enc", Value::from("clear")), ("load", load.into())]);
            rank_of_command(&keys, &pack_wire(&envelope.into()).unwrap())
        };
        let with = |key: &str| Map::from([("cmd", "publish"), ("tgt", "*"), ("key", key)]);
        assert_eq!(rank(with(&known)), Rank::Preferred);
        assert_eq!(rank(with(&known[1..])), Rank::Other);
        assert_eq!(rank(with("")), Rank::Other);
        assert_eq!(rank(Map::from([("cmd", "ping")])), Rank::Other);
    }
}
