//! Highstates: which jobs are some, how they came out, and the last one of each minion.
//!
//! Invariant: of a bounded number of minions the last one is remembered; the one that
//! was heard longest ago gives way.

use std::collections::HashMap;

use halite_proto::{Map, MinionId, Value};

const HIGHSTATE: &str = "state.highstate";
const APPLY: &str = "state.apply";

/// The functions that a highstate is run by.
pub const FUNCTIONS: [&str; 2] = [HIGHSTATE, APPLY];

/// Whether a job was a highstate: `state.apply` is one unless it names files.
pub fn is_highstate(fun: &str, args: &[Value]) -> bool {
    let has_files = || {
        let by_place = args.iter().any(|arg| arg.as_map().is_none());
        by_place || named(args).any(|named| named.contains_key("mods"))
    };
    match fun {
        HIGHSTATE => true,
        APPLY => !has_files(),
        _ => false,
    }
}

/// Whether it was to change nothing.
pub fn is_test(args: &[Value]) -> bool {
    named(args).any(|named| named.get("test").is_some_and(Value::is_true))
}

/// The arguments by name.
fn named(args: &[Value]) -> impl Iterator<Item = &Map> {
    args.iter().filter_map(Value::as_map)
}

/// How a run of states came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether all went well.
    pub is_ok: bool,
    /// States that succeeded.
    pub succeeded: u32,
    /// States that changed something.
    pub changed: u32,
    /// States that failed.
    pub failed: u32,
}

impl Outcome {
    /// Of what a minion returned, and whether it calls it a success. A return that is
    /// no run of states, such as errors of rendering, has failed.
    pub fn of(ret: Option<&Value>, success: Option<bool>) -> Self {
        let states = ret.and_then(Value::as_map);
        let mut outcome = Self {
            is_ok: states.is_some() && success != Some(false),
            succeeded: 0,
            changed: 0,
            failed: 0,
        };
        for state in states.into_iter().flat_map(Map::values) {
            match state.get("result") {
                Some(Value::Bool(false)) => outcome.failed += 1,
                _ => outcome.succeeded += 1,
            }
            let changes = state.get("changes");
            outcome.changed += u32::from(changes.is_some_and(Value::is_true));
        }
        outcome.is_ok &= outcome.failed == 0;
        outcome
    }
}

/// The last highstate of each minion.
#[derive(Debug)]
pub struct LastHighstates {
    of: HashMap<MinionId, (i64, Outcome)>,
    minions_max: usize,
}

impl LastHighstates {
    /// None yet, and of so many minions at most.
    pub fn new(minions_max: usize) -> Self {
        Self {
            of: HashMap::new(),
            minions_max,
        }
    }

    /// A minion has returned one, at a time in seconds.
    pub fn record(&mut self, id: &MinionId, at_s: i64, outcome: Outcome) {
        if self.of.len() >= self.minions_max && !self.of.contains_key(id) {
            let oldest = self.of.iter().min_by_key(|(_, (at_s, _))| *at_s);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.of.remove(&oldest);
            }
        }
        self.of.insert(id.clone(), (at_s, outcome));
    }

    /// All of them: whose, when, and how it came out.
    pub fn all(&self) -> impl Iterator<Item = (&MinionId, i64, Outcome)> {
        let all = self.of.iter();
        all.map(|(id, (at_s, outcome))| (id, *at_s, *outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_apply_of_files_is_no_highstate() {
        let test: Value = Map::from([("__kwarg__", true), ("test", true)]).into();
        let files: Value = Map::from([("mods", "web")]).into();
        assert!(is_highstate(HIGHSTATE, &[]));
        assert!(is_highstate(APPLY, &[]));
        assert!(is_highstate(APPLY, std::slice::from_ref(&test)));
        assert!(!is_highstate(APPLY, &["web".into()]));
        assert!(!is_highstate(APPLY, &[files]));
        assert!(!is_highstate("state.single", &[]));
        assert!(is_test(&[test]));
        assert!(!is_test(&[]));
    }

    #[test]
    fn states_are_counted_and_errors_of_rendering_have_failed() {
        let state = |result: bool, changes: Map| {
            Value::from(Map::from([
                ("result", Value::from(result)),
                ("changes", changes.into()),
            ]))
        };
        let run: Value = Map::from([
            ("a", state(true, Map::new())),
            ("b", state(true, Map::from([("new", 1)]))),
            ("c", state(false, Map::new())),
        ])
        .into();
        let outcome = Outcome::of(Some(&run), None);
        let counts = (outcome.succeeded, outcome.changed, outcome.failed);
        assert_eq!(counts, (2, 1, 1));
        assert!(!outcome.is_ok);
        let broken = Value::List(vec!["Rendering failed".into()]);
        assert!(!Outcome::of(Some(&broken), None).is_ok);
        let nothing = Value::from(Map::new());
        assert!(Outcome::of(Some(&nothing), Some(true)).is_ok);
        assert!(!Outcome::of(Some(&nothing), Some(false)).is_ok);
    }

    #[test]
    fn the_one_heard_longest_ago_gives_way() {
        let id = |name: &str| MinionId::parse(name).unwrap();
        let outcome = Outcome::of(None, None);
        let mut last = LastHighstates::new(2);
        for (at_s, name) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
            last.record(&id(name), at_s, outcome);
        }
        let mut known: Vec<_> = last
            .all()
            .map(|(id, at_s, _)| (id.as_str(), at_s))
            .collect();
        known.sort_unstable();
        assert_eq!(known, [("a", 3), ("c", 4)]);
    }
}
