//! Recognises highstates among jobs, and keeps the result of the last one of each
//! minion.
//!
//! Invariant: this is kept for a bounded number of minions; those heard longest ago
//! are dropped.

use std::cmp::Reverse;
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
    /// Evaluates a return, given whether the minion calls it a success. A return that is
    /// not the result of a state run, such as rendering errors, has failed.
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

/// When a minion's last highstate came back, in seconds since 1970, and how it came
/// out.
pub type Last = (i64, Outcome);

/// The last highstate of each minion.
#[derive(Debug)]
pub struct LastHighstates {
    of: HashMap<MinionId, Last>,
    minions_max: usize,
}

impl LastHighstates {
    /// Nothing remembered yet; at most this many minions.
    pub fn new(minions_max: usize) -> Self {
        Self {
            of: HashMap::new(),
            minions_max,
        }
    }

    /// A minion has returned one, at a time in seconds.
    pub fn record(&mut self, id: &MinionId, at_s: i64, outcome: Outcome) {
        if self.of.len() >= self.minions_max && !self.of.contains_key(id) {
            self.make_room();
        }
        self.of.insert(id.clone(), (at_s, outcome));
    }

    /// Forgets a tenth at once, so that one more does not cost a look at all.
    fn make_room(&mut self) {
        const PARTS: usize = 10;
        let count = (self.minions_max / PARTS).max(1).min(self.of.len());
        let mut all: Vec<_> = self.of.iter().map(|(id, (at_s, _))| (*at_s, id)).collect();
        if count < all.len() {
            all.select_nth_unstable(count);
        }
        let oldest: Vec<_> = all[..count].iter().map(|(_, id)| (*id).clone()).collect();
        for id in oldest {
            self.of.remove(&id);
        }
    }

    /// Forgets minions that are not known any more.
    pub fn retain(&mut self, is_known: impl Fn(&MinionId) -> bool) {
        self.of.retain(|id, _| is_known(id));
    }

    /// The number of minions with a remembered highstate.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The number of minions whose last one failed.
    pub fn failed(&self) -> usize {
        let all = self.of.values();
        all.filter(|(_, outcome)| !outcome.is_ok).count()
    }

    /// The last highstates of at most this many minions: those that failed first, then
    /// the newest.
    pub fn first(&self, count: usize) -> Vec<(&MinionId, Last)> {
        let mut all: Vec<_> = self.of.iter().map(|(id, last)| (id, *last)).collect();
        if count < all.len() {
            // By their ids at last, so that each page has the same ones.
            all.select_nth_unstable_by(count, |(id, last), (other, others)| {
                let place = |(at_s, outcome): &Last| (outcome.is_ok, Reverse(*at_s));
                place(last).cmp(&place(others)).then_with(|| id.cmp(other))
            });
            all.truncate(count);
        }
        all
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

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn outcome(is_ok: bool) -> Outcome {
        let ret = Value::from(Map::new());
        Outcome::of(Some(&ret), Some(is_ok))
    }

    fn names(last: &LastHighstates, count: usize) -> Vec<&str> {
        let first = last.first(count).into_iter();
        let mut names: Vec<_> = first.map(|(id, _)| id.as_str()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_one_heard_longest_ago_gives_way() {
        let mut last = LastHighstates::new(2);
        for (at_s, name) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
            last.record(&id(name), at_s, outcome(false));
        }
        assert_eq!(names(&last, 9), ["a", "c"]);
        let mut last = LastHighstates::new(20);
        for number in 0..21 {
            last.record(&id(&format!("m{number}")), number, outcome(true));
        }
        assert_eq!(last.len(), 19);
        assert!(!names(&last, 30).contains(&"m1"));
        assert!(names(&last, 30).contains(&"m2"));
    }

    #[test]
    fn where_not_all_are_shown_those_that_failed_are() {
        let mut last = LastHighstates::new(9);
        for (at_s, name, is_ok) in [
            (1, "a", false),
            (2, "b", true),
            (3, "c", true),
            (4, "d", false),
        ] {
            last.record(&id(name), at_s, outcome(is_ok));
        }
        assert_eq!(names(&last, 1), ["d"]);
        assert_eq!(names(&last, 2), ["a", "d"]);
        assert_eq!(names(&last, 3), ["a", "c", "d"]);
        assert_eq!((last.len(), last.failed()), (4, 2));
        last.record(&id("d"), 5, outcome(true));
        assert_eq!(last.failed(), 1);
        last.retain(|id| id.as_str() != "a");
        assert_eq!((names(&last, 9), last.failed()), (vec!["b", "c", "d"], 0));
    }
}
