//! Which events a minion may fire on the master's bus.
//!
//! Invariant: the tags that Salt itself uses (below `salt/`, `syndic/`, and under
//! job ids) are refused unless they are listed here for this sender. A minion
//! cannot forge what only a master fires (publications, returns, key changes,
//! results of runners), nor a tag that a reactor's pattern takes for another
//! minion's. Other names, also below `salt/`, are free for users.

use halite_proto::shown::is_harmful;
use halite_proto::{Jid, Map, MinionId, Value};

/// What Salt's programs say below `salt/`, without what minions may say.
const SALTS_OWN: [&str; 19] = [
    "batch",
    "cloud",
    "cluster",
    "deltaproxy",
    "engines",
    "event_listen",
    "fileserver",
    "netapi",
    "presence",
    "proxy",
    "queue",
    "reactor",
    "reactors",
    "resource",
    "run",
    "scheduler",
    "ssh",
    "stats",
    "wheel",
];

/// How a master tells of what its own schedule has run.
const OF_SCHEDULE: &str = "__schedule_return";

/// What reactors accept keys by. Their patterns may end with a star.
const OF_KEYS: [&str; 2] = ["auth", "key"];

/// Names within the tag of a state's event that are looked up. A state with
/// more of them in its name fires no event.
const NAMES_IN_STATE_MAX: usize = 32;

/// Whether the minion `id` may fire `tag`; `is_minion` knows the others.
pub fn minion_may_fire(id: &MinionId, tag: &str, is_minion: impl Fn(&str) -> bool) -> bool {
    // Who looks at the bus does so on a terminal.
    if tag.contains(is_harmful) {
        return false;
    }
    let parts: Vec<&str> = tag.split('/').collect();
    match parts.as_slice() {
        ["salt", rest @ ..] => may_say_as_salt(id, rest, is_minion),
        ["syndic", ..] | ["minion" | "resource", "refresh", ..] => false,
        ["key" | OF_SCHEDULE] => false,
        [first, ..] => !begins_with_a_job(first),
        [] => false,
    }
}

/// The same for the part behind `salt/`.
fn may_say_as_salt(id: &MinionId, parts: &[&str], is_minion: impl Fn(&str) -> bool) -> bool {
    let own = |owner: &str| owner == id.as_str();
    match *parts {
        // The beginning, and the progress, of a job on the sender.
        ["job", jid, "start" | "at", owner] => is_jid(jid) && own(owner),
        ["job", jid, "prog", owner, number] => is_jid(jid) && own(owner) && is_number(number),
        ["state_result", jid, owner, ref name @ ..] => {
            let names_another = |part: &&str| !own(part) && is_minion(part);
            let within = name.split_last().map_or(name, |(_, within)| within);
            is_jid(jid)
                && own(owner)
                && within.len() <= NAMES_IN_STATE_MAX
                && !within.iter().any(names_another)
        }
        // That a minion is several machines is the master's to say.
        ["minion", _, "cloned"] => false,
        ["minion" | "beacon", owner, ..] | ["syndic", owner, "start"] => own(owner),
        ["deltaproxy", "start"] => true,
        ["job" | "state_result" | "minion" | "beacon" | "syndic", ..] => false,
        [name, ..] => {
            let is_of_keys = OF_KEYS.iter().any(|of_keys| name.starts_with(of_keys));
            // No name is empty.
            !(name.is_empty() || is_of_keys || SALTS_OWN.contains(&name))
        }
        [] => false,
    }
}

/// Whether the data of an event names another minion than the one that fires
/// it, under a tag that names its owner: what reacts to it believes both.
pub fn data_is_anothers(id: &MinionId, tag: &str, data: &Map) -> bool {
    let named = data.get("id").and_then(Value::as_str);
    let names_owner = [
        "salt/minion/",
        "salt/beacon/",
        "salt/job/",
        "salt/state_result/",
        "salt/syndic/",
        "minion_start",
    ];
    names_owner.iter().any(|start| tag.starts_with(start))
        && named.is_some_and(|named| named != id.as_str())
}

/// Whether a name is a job id, or longer than one: programs look for events
/// whose tags begin with an id.
fn begins_with_a_job(name: &str) -> bool {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    digits >= Jid::DIGITS
}

fn is_jid(text: &str) -> bool {
    Jid::parse(text).is_ok()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What an event is about: the first part of its tag, behind `salt/`.
pub fn field_of(tag: &str) -> &str {
    let tag = tag.trim_matches('/');
    let own = tag.strip_prefix("salt/").unwrap_or(tag);
    own.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use halite_target::glob::fnmatch;
    use proptest::prelude::*;

    use super::*;

    const MINIONS: [&str; 3] = ["web1", "web2", "db"];

    fn may_fire(tag: &str) -> bool {
        let id = MinionId::parse("web1").unwrap();
        minion_may_fire(&id, tag, |name| MINIONS.contains(&name))
    }

    #[track_caller]
    fn check(tag: &str, expect: bool) {
        assert_eq!(may_fire(tag), expect, "{tag}");
    }

    #[test]
    fn an_event_is_about_the_first_part_of_its_tag() {
        for (tag, field) in [
            ("salt/job/20260101000000000000/ret/web1", "job"),
            ("salt/auth", "auth"),
            ("my/own/tag", "my"),
            ("salt", "salt"),
        ] {
            assert_eq!(field_of(tag), field);
        }
    }

    #[test]
    fn what_only_a_master_says_is_refused() {
        for tag in [
            "salt/job/20261120141841939742/publish",
            "salt/job/20261120141841939742/new",
            "salt/job/20261120141841939742/return",
            "salt/job/20261120141841939742/ret/web1",
            "salt/job/20261120141841939742/sub/web1/error/state.sls",
            "salt/key",
            "key",
            "salt/auth",
            "salt/auth/web1",
            "salt/auth2",
            "salt/cloud/x/created",
            "salt/run/20261120141841939742/ret",
            "salt/minion/web1/cloned",
            "salt/cluster/x",
            "salt/wheel/20261120141841939742/new",
            "salt/wheel/x",
            "salt/presence/change",
            "salt/key ",
            "salt/key/accept",
            "salt//key",
            "salt",
            "salt/",
            "salt/netapi/hook/deploy",
            "salt/engines/hook/deploy",
            "salt/reactor/start",
            "my/tag\nsalt/key: {}",
            "my/\x1b[2Jtag",
            "salt/batch/20261120141841939742/done",
            "salt/fileserver/roots/update",
            "salt/stats/MWorker-default-0",
            "salt/job/error",
            "salt/job/20261120141841939742/error",
            "minion/refresh/web1",
            "resource/refresh/web1",
            "syndic/web1/20261120141841939742",
            "syndic/web1/start",
            "20261120141841939742",
            "20261120141841939742_7/x",
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
        check("salt/job/20261120141841939742/prog/web1/0/ret/web2", false);
        check("salt/job/20261120141841939742/prog/web1/x", false);
        check("salt/job/x/prog/web1/0", false);
        check("salt/job/20261120141841939742/ret/web2", false);
        check("salt/job/20261120141841939742/ret", false);
        check("salt/job/20261120141841939742/start/web1", true);
        check("salt/beacon/web2/load/", false);
        check("salt/state_result/20261120141841939742/web2/x", false);
        check("salt/state_result/20261120141841939742/web1/web2", true);
        check("salt/state_result/20261120141841939742/web1/web2/x", false);
        check("salt/state_result/20261120141841939742/web1//etc/a", true);
        check("salt/syndic/web1/start", true);
        check("salt/syndic/web2/start", false);
    }

    #[test]
    fn the_data_of_such_a_tag_names_its_owner_or_nobody() {
        let id = MinionId::parse("web1").unwrap();
        let of = |named: &str| Map::from([("id", named)]);
        for tag in [
            "salt/minion/web1/start",
            "salt/beacon/web1/load/",
            "salt/state_result/20261120141841939742/web1/x",
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
            "syndic_start",
            "_salt_error",
            "my/tag",
            "salt/beacon/web1/load/",
            "salt/beacon/web1/inotify//srv/pillar/web2/x",
            "salt/state_result/20261120141841939742/web1/my/own",
            "salt/job/20261120141841939742/at/web1",
            "salt/custom",
            "salt/push",
            "salt/cert_init",
            "salt/register/new_minion",
            "salt/event/apache/server",
            "salt/web1.example.com/loadbalancer",
            "minion_ping",
            "evt",
            "2026/x",
        ] {
            check(tag, true);
        }
    }

    /// The patterns that public trees react to, with `{}` for a minion that
    /// they are about.
    const PATTERNS: [&str; 24] = [
        "salt/auth",
        "salt/auth*",
        "salt/key",
        "salt/key*",
        "salt/cloud/*/destroyed",
        "salt/presence/*",
        "salt/netapi/hook/*",
        "salt/engines/hook/*",
        "salt/run/*/ret",
        "salt/wheel/*",
        "salt/fileserver/gitfs/update",
        "salt/job/*/new",
        "salt/job/*/publish",
        "salt/job/*/error",
        "salt/job/*/ret/*",
        "salt/job/*/ret/{}",
        "salt/job/*/prog/{}/*",
        "salt/job/*/start/{}",
        "salt/job/*/sub/{}/error/*",
        "salt/minion/{}/*",
        "salt/beacon/{}/*",
        "salt/state_result/*/{}/*",
        "syndic/*/*",
        "minion/refresh/{}",
    ];

    fn tags() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            4 => Just("salt".to_owned()),
            2 => Just("20261120141841939742".to_owned()),
            4 => prop::sample::select(vec![
                "job", "ret", "prog", "start", "sub", "error", "minion", "beacon", "state_result",
                "syndic", "refresh", "key", "auth", "new", "publish", "cloud", "destroyed", "run",
                "wheel", "presence", "netapi", "engines", "hook", "fileserver", "gitfs", "update",
            ]).prop_map(str::to_owned),
            4 => prop::sample::select(MINIONS.to_vec()).prop_map(str::to_owned),
            1 => "[a-z0-9*]{0,3}",
        ];
        let rest = prop::collection::vec(part, 1..7).prop_map(|parts| parts.join("/"));
        // Most are below `salt/`, and many name the sender where its id belongs.
        let ours = prop::sample::select(vec![
            "",
            "salt/",
            "salt/job/20261120141841939742/prog/web1/",
            "salt/state_result/20261120141841939742/web1/",
            "salt/minion/web1/",
            "salt/beacon/web1/",
        ]);
        (ours, rest).prop_map(|(start, rest)| format!("{start}{rest}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// No tag that a minion may fire is one that a pattern takes for what
        /// the master says, or for what another minion does.
        #[test]
        fn no_pattern_takes_a_minions_event_for_anothers(tag in tags()) {
            if may_fire(&tag) {
                for pattern in PATTERNS {
                    for other in ["web2", "db"] {
                        let pattern = pattern.replace("{}", other);
                        prop_assert!(!fnmatch(&pattern, &tag), "{pattern} takes {tag}");
                    }
                }
            }
        }
    }
}
