//! Which events a minion may put on the master's bus.
//!
//! Invariant: a minion cannot forge what only a master says (publications, key
//! changes, results of runners), nor speak for another minion in the
//! namespaces that carry an id.

use halite_proto::shown::is_harmful;
use halite_proto::{Map, MinionId, Value};
use halite_target::glob::fnmatch;

/// Tags that only a master fires.
const MASTERS_OWN: [&str; 9] = [
    "salt/job/*/publish",
    "salt/job/*/new",
    "salt/job/*/return",
    "salt/key",
    "salt/cloud/*",
    "salt/run/*",
    "salt/cluster/*",
    "salt/wheel/*/new",
    "salt/wheel/*/return",
];

/// Whether the minion `id` may fire `tag`.
///
/// Stricter than Salt, whose list does not cover the events of other minions:
/// `salt/minion/<id>/..`, `salt/job/<jid>/ret/<id>` and the like must name the
/// sender, and `salt/auth` is never a minion's.
pub fn minion_may_fire(id: &MinionId, tag: &str) -> bool {
    // Who looks at the bus does so on a terminal.
    if tag.contains(is_harmful) || MASTERS_OWN.iter().any(|pattern| fnmatch(pattern, tag)) {
        return false;
    }
    let mut parts = tag.split('/');
    if parts.next() != Some("salt") {
        return !is_short_master_tag(tag)
            && owner_of_plain(tag).is_none_or(|owner| id_is(id, owner));
    }
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("auth" | "batch" | "fileserver" | "presence" | "stats" | "wheel"), ..) => false,
        (Some("event_listen" | "netapi" | "reactor"), ..) => false,
        // Patterns of reactors end with a star; no name is empty.
        (Some(name), ..) if name.is_empty() || name.starts_with("key") => false,
        (Some("job"), Some("error"), None, _) | (Some("job"), Some(_), Some("error"), _) => false,
        (Some("minion" | "beacon" | "syndic"), Some(owner), ..) => id_is(id, owner),
        (Some("job"), Some(_), Some("ret" | "prog" | "at" | "start" | "sub"), owner) => {
            owner.is_some_and(|owner| id_is(id, owner))
        }
        (Some("state_result"), Some(_), Some(owner), _) => id_is(id, owner),
        _ => true,
    }
}

/// Whether the data of an event names another minion than the one that fires
/// it, under a tag that names its owner: what reacts to it believes both.
pub fn data_is_anothers(id: &MinionId, tag: &str, data: &Map) -> bool {
    let named = data.get("id").and_then(Value::as_str);
    let names_owner = ["salt/minion/", "salt/beacon/", "salt/job/", "minion_start"];
    names_owner.iter().any(|start| tag.starts_with(start))
        && named.is_some_and(|named| !id_is(id, named))
}

/// Tags without `salt/` in front that the master itself fires.
fn is_short_master_tag(tag: &str) -> bool {
    tag == "key"
}

/// The id that a tag outside `salt/` belongs to.
fn owner_of_plain(tag: &str) -> Option<&str> {
    tag.strip_prefix("minion/refresh/")
        .or_else(|| tag.strip_prefix("resource/refresh/"))
}

fn id_is(id: &MinionId, owner: &str) -> bool {
    id.as_str() == owner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tag: &str, expect: bool) {
        let id = MinionId::parse("web1").unwrap();
        assert_eq!(minion_may_fire(&id, tag), expect, "{tag}");
    }

    #[test]
    fn what_only_a_master_says_is_refused() {
        for tag in [
            "salt/job/20261120141841939742/publish",
            "salt/job/20261120141841939742/new",
            "salt/job/20261120141841939742/return",
            "salt/key",
            "key",
            "salt/auth",
            "salt/auth/web1",
            "salt/cloud/x/created",
            "salt/run/20261120141841939742/ret",
            "salt/cluster/x",
            "salt/wheel/20261120141841939742/new",
            "salt/wheel/x",
            "salt/presence/change",
            "salt/key ",
            "salt/key/accept",
            "salt//key",
            "salt/netapi/hook/deploy",
            "salt/reactor/start",
            "my/tag\nsalt/key: {}",
            "my/\x1b[2Jtag",
            "salt/batch/20261120141841939742/done",
            "salt/fileserver/roots/update",
            "salt/stats/MWorker-default-0",
            "salt/job/error",
            "salt/job/20261120141841939742/error",
            "minion/refresh/web2",
        ] {
            check(tag, false);
        }
    }

    #[test]
    fn the_namespaces_with_an_id_belong_to_it() {
        check("salt/minion/web1/start", true);
        check("salt/minion/web2/start", false);
        check("salt/job/20261120141841939742/prog/web1/0", true);
        check("salt/job/20261120141841939742/prog/web2/0", false);
        check("salt/job/20261120141841939742/ret/web2", false);
        check("salt/job/20261120141841939742/ret", false);
        check("salt/job/20261120141841939742/start/web1", true);
        check("salt/beacon/web2/load/", false);
        check("salt/state_result/20261120141841939742/web2/x", false);
    }

    #[test]
    fn the_data_of_such_a_tag_names_its_owner_or_nobody() {
        let id = MinionId::parse("web1").unwrap();
        let of = |named: &str| Map::from([("id", named)]);
        for tag in [
            "salt/minion/web1/start",
            "salt/beacon/web1/load/",
            "minion_start",
        ] {
            assert!(data_is_anothers(&id, tag, &of("web2")), "{tag}");
            assert!(!data_is_anothers(&id, tag, &of("web1")), "{tag}");
            assert!(!data_is_anothers(&id, tag, &Map::new()), "{tag}");
        }
        // What an id means elsewhere is the sender's business.
        assert!(!data_is_anothers(&id, "my/tag", &of("order 7")));
    }

    #[test]
    fn everything_else_is_the_minions_to_say() {
        for tag in [
            "minion_start",
            "my/tag",
            "salt/beacon/web1/load/",
            "salt/custom",
            "minion_ping",
            "evt",
        ] {
            check(tag, true);
        }
    }
}
