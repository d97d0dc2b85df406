//! Recognises highstates among jobs, and keeps the result of the last one of each
//! minion.
//!
//! Invariant: this is kept for a bounded number of minions; those whose last highstate
//! was heard of longest ago are dropped.

use std::cmp::Reverse;
use std::collections::HashMap;

use halite_proto::{Jid, Map, MinionId, Value};

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

/// One highstate of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highstate {
    /// Its job.
    pub jid: Jid,
    /// Whether it was to change nothing.
    pub is_test: bool,
    /// How it came out.
    pub outcome: Outcome,
}

/// When the last highstate that counts came back, in seconds since 1970, and how it came
/// out.
pub type Last = (i64, Outcome);

/// What is remembered of one minion.
#[derive(Debug)]
struct Known {
    newest: Highstate,
    heard_s: i64,
    /// The last one that this master has received itself, if it was no test.
    counted: Option<Last>,
}

/// The last highstate of each minion.
#[derive(Debug)]
pub struct LastHighstates {
    of: HashMap<MinionId, Known>,
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

    /// A minion has returned one, at a time in seconds: to this master, or to another one
    /// of the cluster, which counts it. The job with the greatest id is the newest, in
    /// whatever order they come.
    pub fn record(&mut self, id: &MinionId, at_s: i64, highstate: Highstate, is_own: bool) {
        let counts = is_own && !highstate.is_test;
        let counted = counts.then_some((at_s, highstate.outcome));
        if let Some(known) = self.of.get_mut(id) {
            known.heard_s = at_s;
            known.counted = counted.or(known.counted);
            if highstate.jid >= known.newest.jid {
                known.newest = highstate;
            }
            return;
        }
        if self.of.len() >= self.minions_max {
            self.make_room();
        }
        let known = Known {
            newest: highstate,
            heard_s: at_s,
            counted,
        };
        self.of.insert(id.clone(), known);
    }

    /// The newest highstate of a minion.
    pub fn newest(&self, id: &MinionId) -> Option<&Highstate> {
        self.of.get(id).map(|known| &known.newest)
    }

    /// Forgets a tenth at once, so that one more does not cost a look at all.
    fn make_room(&mut self) {
        const PARTS: usize = 10;
        let count = (self.minions_max / PARTS).max(1).min(self.of.len());
        let all = self.of.iter().map(|(id, known)| (known.heard_s, id));
        let mut all: Vec<_> = all.collect();
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

    /// Forgets a minion.
    pub fn forget(&mut self, id: &MinionId) {
        self.of.remove(id);
    }

    fn all_counted(&self) -> impl Iterator<Item = (&MinionId, Last)> {
        let all = self.of.iter();
        all.filter_map(|(id, known)| Some((id, known.counted?)))
    }

    /// The number of minions with a highstate that counts.
    pub fn counted(&self) -> usize {
        self.all_counted().count()
    }

    /// The number of those whose last one failed.
    pub fn failed(&self) -> usize {
        let all = self.all_counted();
        all.filter(|(_, (_, outcome))| !outcome.is_ok).count()
    }

    /// The last highstates that count, of at most this many minions: those that failed
    /// first, then the newest.
    pub fn first(&self, count: usize) -> Vec<(&MinionId, Last)> {
        let mut all: Vec<_> = self.all_counted().collect();
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

    fn highstate(day: i64, is_ok: bool) -> Highstate {
        let ret = Value::from(Map::new());
        Highstate {
            jid: Jid::parse(format!("202611{day:02}141841939742")).unwrap(),
            is_test: false,
            outcome: Outcome::of(Some(&ret), Some(is_ok)),
        }
    }

    fn record(last: &mut LastHighstates, name: &str, at_s: i64, is_ok: bool) {
        last.record(&id(name), at_s, highstate(at_s, is_ok), true);
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
            record(&mut last, name, at_s, false);
        }
        assert_eq!(names(&last, 9), ["a", "c"]);
        let mut last = LastHighstates::new(20);
        for number in 0..21 {
            record(&mut last, &format!("m{number}"), number, true);
        }
        assert_eq!(last.counted(), 19);
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
            record(&mut last, name, at_s, is_ok);
        }
        assert_eq!(names(&last, 1), ["d"]);
        assert_eq!(names(&last, 2), ["a", "d"]);
        assert_eq!(names(&last, 3), ["a", "c", "d"]);
        assert_eq!((last.counted(), last.failed()), (4, 2));
        record(&mut last, "d", 5, true);
        assert_eq!(last.failed(), 1);
        last.retain(|id| id.as_str() != "a");
        assert_eq!((names(&last, 9), last.failed()), (vec!["b", "c", "d"], 0));
        last.forget(&id("b"));
        assert_eq!(names(&last, 9), ["c", "d"]);
    }

    #[test]
    fn tests_and_those_of_other_masters_are_known_but_do_not_count() {
        let mut last = LastHighstates::new(9);
        record(&mut last, "a", 1, false);
        let test = Highstate {
            is_test: true,
            ..highstate(2, true)
        };
        last.record(&id("a"), 2, test.clone(), true);
        assert_eq!(last.newest(&id("a")), Some(&test));
        let elsewhere = highstate(3, true);
        for name in ["a", "b"] {
            last.record(&id(name), 3, elsewhere.clone(), false);
            assert_eq!(last.newest(&id(name)), Some(&elsewhere));
        }
        assert_eq!((last.counted(), last.failed()), (1, 1));
        assert_eq!(names(&last, 9), ["a"]);
    }

    #[test]
    fn a_highstate_that_comes_late_is_not_the_newest() {
        let mut last = LastHighstates::new(9);
        record(&mut last, "a", 2, true);
        last.record(&id("a"), 3, highstate(1, false), true);
        assert_eq!(last.newest(&id("a")), Some(&highstate(2, true)));
    }
}
