//! The progress of state runs, which Halite minions report while somebody watches,
//! and the reasons for silent minions, which the master reports.
//!
//! Invariant: it holds at most one place for each minion, and none of one that has
//! returned.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::{Map, Value};

/// The field of a job by which it asks minions to tell.
pub const WISH: &str = "progress";

/// What stands in the tag of such an event, behind the job's.
const AT: &str = "at/";

/// Most minions whose places are kept; nobody reads more lines.
const PLACES_MAX: usize = 4096;

/// Where a minion is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinionProgress {
    /// The number of the state it is at.
    pub number: u64,
    /// How many there are.
    pub of: u64,
    /// The id of the state.
    pub state: String,
    /// Its function.
    pub function: String,
    /// When that was heard.
    pub since: Instant,
}

/// The places of all minions of a command.
#[derive(Clone, Debug, Default)]
pub struct FleetProgress(Arc<Mutex<Heard>>);

/// What minions have told of their state runs.
#[derive(Debug, Default)]
struct Heard {
    places: BTreeMap<String, MinionProgress>,
    reasons: BTreeMap<String, &'static str>,
}

impl FleetProgress {
    /// Takes what follows the job in the tag of an event, and its data.
    pub fn take(&self, rest: &str, data: &Map, now: Instant) {
        let Some(id) = rest.strip_prefix(AT) else {
            return;
        };
        // A minion's event has the data within.
        let data = data.get("data").and_then(Value::as_map).unwrap_or(data);
        let number = |name: &str| data.get(name).and_then(Value::as_i64);
        let text = |name: &str| data.get(name).map(halite_proto::python::str);
        let (Some(at), Some(of)) = (number("n"), number("len")) else {
            return;
        };
        let places = &mut self.lock().places;
        if places.len() >= PLACES_MAX && !places.contains_key(id) {
            return;
        }
        let place = MinionProgress {
            number: at.unsigned_abs().min(of.unsigned_abs()),
            of: of.unsigned_abs(),
            state: text("id").unwrap_or_default(),
            function: text("fun").unwrap_or_default(),
            since: now,
        };
        places.insert(id.to_owned(), place);
    }

    /// Why minions are silent, in place of what was known.
    pub fn silent(&self, reasons: BTreeMap<String, &'static str>) {
        self.lock().reasons = reasons;
    }

    /// Why a minion is silent, where that is known.
    pub fn reason(&self, id: &str) -> Option<&'static str> {
        self.lock().reasons.get(id).copied()
    }

    /// The minion has ended.
    pub fn ended(&self, id: &str) {
        self.lock().places.remove(id);
    }

    /// All of them, by minion.
    pub fn all(&self) -> BTreeMap<String, MinionProgress> {
        self.lock().places.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_newest_until_its_minion_ends() {
        let places = FleetProgress::default();
        let now = Instant::now();
        let data = |number: i64| {
            Map::from([
                ("n", Value::from(number)),
                ("len", 3.into()),
                ("id", "nginx".into()),
                ("fun", "pkg.installed".into()),
            ])
        };
        places.take("at/web1", &data(1), now);
        places.take("at/web1", &Map::from([("data", data(9))]), now);
        places.take("ret/web2", &data(1), now);
        places.take("at/web3", &Map::new(), now);
        let all = places.all();
        assert_eq!(all.len(), 1);
        let place = all.get("web1").unwrap();
        assert_eq!((place.number, place.of), (3, 3));
        assert_eq!(place.state, "nginx");
        places.ended("web1");
        assert!(places.all().is_empty());
    }
}
