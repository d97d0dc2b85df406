//! What masters know of each other's jobs in batches, in the form in which it lies beside
//! the job.
//!
//! Pure.

use std::collections::BTreeSet;

use halite_cluster::PeerId;
use halite_proto::{Map, MinionId, Value};

/// The field that names the master driving a job in batches, as several may share a
/// store.
pub(crate) const MASTER: &str = "halite_master";

/// How often a job in batches was taken over, in what is known of it.
const TAKEN_OVER: &str = "halite_taken_over";

/// The state from which a master continues a job in batches.
pub(super) fn taken_over(mut state: Map, sent: &BTreeSet<MinionId>) -> Map {
    let is_sent = |id: &Value| {
        let id = id.as_str().and_then(|id| MinionId::parse(id).ok());
        id.is_some_and(|id| sent.contains(&id))
    };
    let pending = state.get("pending").and_then(Value::as_list);
    let mut pending = pending.unwrap_or_default().to_vec();
    pending.retain(|id| !is_sent(id));
    let active = state.get("active").and_then(Value::as_map);
    let mut active = active.cloned().unwrap_or_default();
    for id in sent {
        active.insert(id, Value::Nil);
    }
    state.insert("pending", Value::List(pending));
    state.insert("active", active);
    state.insert(TAKEN_OVER, takeovers(&state) + 1);
    state
}

/// Whether a master has driven a job in batches to its end.
pub(super) fn is_ended_by(state: &Map, id: &str) -> bool {
    let is_done = |name: &str| match state.get(name) {
        Some(Value::Map(ids)) => ids.is_empty(),
        Some(Value::List(ids)) => ids.is_empty(),
        _ => false,
    };
    let is_over = state.get("halted").is_some_and(Value::is_true)
        || (is_done("active") && is_done("pending"));
    is_over && state.get(MASTER).and_then(Value::as_str) == Some(id)
}

fn takeovers(state: &Map) -> i64 {
    let count = state.get(TAKEN_OVER).and_then(Value::as_i64);
    count.unwrap_or(0).clamp(0, i64::MAX - 1)
}

/// Decides, if two masters drive one job after a cut between them, whether this one
/// leaves it to the other. It stays where it was taken over less often.
pub(super) fn yields(own: (&PeerId, &Map), other: (&PeerId, &Map)) -> bool {
    let place = |(peer, state): (&PeerId, &Map)| (takeovers(state), peer.clone());
    place(other) < place(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str) -> PeerId {
        PeerId::parse(name).unwrap()
    }

    #[test]
    fn whom_it_was_sent_to_works_on_it_and_the_others_are_still_to_get_it() {
        let list = |ids: &[&str]| Value::List(ids.iter().map(|id| Value::from(*id)).collect());
        let state = Map::from([
            ("pending", list(&["b", "c", "d"])),
            ("active", Map::from([("a", 1)]).into()),
        ]);
        let sent = [MinionId::parse("b").unwrap()].into();
        let state = taken_over(state, &sent);
        assert_eq!(state.get("pending"), Some(&list(&["c", "d"])));
        let active: Vec<_> = state
            .get("active")
            .unwrap()
            .as_map()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(active, [&Value::from("a"), &Value::from("b")]);
        assert_eq!(takeovers(&state), 1);
        assert_eq!(takeovers(&taken_over(state, &sent)), 2);
        let odd = Map::from([(TAKEN_OVER, i64::MAX)]);
        assert_eq!(takeovers(&taken_over(odd, &sent)), i64::MAX - 1);
    }

    #[test]
    fn only_who_has_ended_a_job_says_that_it_is_over() {
        let state = |active: Map, halted: bool| {
            Map::from([
                (MASTER, Value::from("m2_master")),
                ("active", active.into()),
                ("pending", Value::List(Vec::new())),
                ("halted", halted.into()),
            ])
        };
        let active = Map::from([("a", 1)]);
        assert!(is_ended_by(&state(Map::new(), false), "m2_master"));
        assert!(is_ended_by(&state(active.clone(), true), "m2_master"));
        assert!(!is_ended_by(&state(active, false), "m2_master"));
        assert!(!is_ended_by(&state(Map::new(), false), "m1_master"));
        assert!(!is_ended_by(&Map::new(), "m2_master"));
    }

    #[test]
    fn one_of_two_that_drive_a_job_leaves_it_to_the_other() {
        let (m1, m2) = (peer("m1"), peer("m2"));
        let (first, again) = (Map::new(), Map::from([(TAKEN_OVER, 1)]));
        assert!(yields((&m1, &again), (&m2, &first)));
        assert!(!yields((&m2, &first), (&m1, &again)));
        assert!(yields((&m2, &again), (&m1, &again)));
        assert!(!yields((&m1, &again), (&m2, &again)));
    }
}
