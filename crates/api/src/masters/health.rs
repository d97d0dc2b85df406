//! Which masters can be reached, as of the last attempt.
//!
//! Invariant: a change is reported once, in the log and as an event.

use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_process::clock::unix_micros;
use halite_proto::event::Event;
use halite_proto::{Map, Tag};

/// The state of each master; the first one is that of this machine.
#[derive(Debug)]
pub(super) struct Health(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    name: String,
    /// Why it cannot be reached.
    away: Option<String>,
}

impl Health {
    /// All masters count as reachable until they were checked.
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let known = names.into_iter().map(|name| Known { name, away: None });
        Self(Mutex::new(known.collect()))
    }

    /// Records whether a master was reached; returns the event to fire if that is a
    /// change.
    pub(super) fn found(&self, index: usize, away: Option<String>) -> Option<Event> {
        let mut all = self.lock();
        let known = all.get_mut(index)?;
        let is_news = known.away.is_some() != away.is_some();
        known.away = away;
        if !is_news {
            return None;
        }
        let mut data = Map::from([("master", known.name.as_str())]);
        let tag = match &known.away {
            Some(why) => {
                tracing::warn!(master = known.name, "a master cannot be reached: {why}");
                data.insert("why", why.as_str());
                "salt/netapi/master/away"
            }
            None => {
                tracing::info!(master = known.name, "a master can be reached again");
                "salt/netapi/master/back"
            }
        };
        let mut event = Event::new(Tag::parse(tag).ok()?, data);
        event.stamp(unix_micros(), true);
        Some(event)
    }

    /// The address turned out not to be another master: it does not count as unreachable.
    pub(super) fn forget(&self, index: usize) {
        if let Some(known) = self.lock().get_mut(index) {
            known.away = None;
        }
    }

    pub(super) fn is_away(&self, index: usize) -> bool {
        let all = self.lock();
        all.get(index).is_some_and(|known| known.away.is_some())
    }

    /// All of them by name, and why one cannot be reached.
    pub(super) fn all(&self) -> Vec<(String, Option<String>)> {
        let all = self.lock();
        let each = all.iter();
        each.map(|known| (known.name.clone(), known.away.clone()))
            .collect()
    }

    /// The names of those that are away.
    pub(super) fn away(&self) -> Vec<String> {
        let all = self.lock();
        let away = all.iter().filter(|known| known.away.is_some());
        away.map(|known| known.name.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once() {
        let health = Health::new(["m1".to_owned(), "m2".to_owned()]);
        let why = || Some("refused".to_owned());
        assert_eq!(health.found(1, None), None);
        let away = health.found(1, why()).unwrap();
        assert_eq!(away.tag.as_str(), "salt/netapi/master/away");
        assert_eq!(away.data.get("master"), Some(&"m2".into()));
        assert_eq!(health.found(1, why()), None);
        health.forget(1);
        assert!(health.away().is_empty());
        assert!(health.found(1, why()).is_some());
        assert_eq!(health.away(), ["m2"]);
        let all = health.all();
        assert_eq!(all, [("m1".to_owned(), None), ("m2".to_owned(), why())]);
        let back = health.found(1, None).unwrap();
        assert_eq!(back.tag.as_str(), "salt/netapi/master/back");
        assert!(!health.is_away(1) && health.away().is_empty());
    }
}
