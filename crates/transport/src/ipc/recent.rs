//! The recent events of a bus, for programs that subscribe late.
//!
//! Salt's own programs may publish a job before they are connected to the bus:
//! `run_job` with `get_cli_returns` after it, and all of them where the bus is on
//! TCP. They look into the job cache, and then connect, which takes them seconds
//! the first time on a busy machine, and they miss what comes in between. So they
//! get the events from just before they connected.
//!
//! Invariant: the memory is bounded in bytes and time, and an owner's events never
//! make room for those of an owner who has as much kept, or more.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bus_event::BusEvent;
use crate::limits::LATE_EVENT_OVERHEAD_BYTES;

/// Events of a bus that are kept for late listeners.
#[derive(Clone, Copy, Debug)]
pub struct LateListening {
    /// For how long.
    pub span: Duration,
    /// Bytes of one owner's events at most; the oldest of them go first.
    pub owner_bytes_max: usize,
    /// Bytes of all at most: whoever has the most gives way.
    pub bytes_max: usize,
}

/// Why an event is kept for late listeners.
#[derive(Clone, Copy, Debug)]
pub struct ForLate<'a> {
    /// Its owner: each has a share of what is kept.
    pub owner: &'a str,
    /// When it was asked for: a program that was started later than that waits
    /// for none of it.
    pub asked: Instant,
}

/// An event that somebody has missed.
#[derive(Debug)]
pub(super) struct Missed {
    pub(super) asked: Instant,
    pub(super) event: BusEvent,
}

/// The events of the last moments.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// By number, which is their order.
    events: BTreeMap<u64, Kept>,
    next: u64,
    shares: HashMap<Arc<str>, Share>,
    /// The size of each owner's share, the least first.
    ranks: BTreeSet<(usize, Arc<str>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    owner: Arc<str>,
    asked: Instant,
    fired: Instant,
    event: BusEvent,
}

/// The kept events of one owner, oldest first.
#[derive(Debug, Default)]
struct Share {
    numbers: VecDeque<u64>,
    bytes: usize,
}

impl Recent {
    /// Keeps an event, if there is room for it.
    pub(super) fn keep(
        &mut self,
        event: &BusEvent,
        why: ForLate<'_>,
        now: Instant,
        rules: &LateListening,
    ) {
        self.forget(now, rules);
        let size = size_of(event);
        let owner: Arc<str> = Arc::from(why.owner);
        if size > rules.owner_bytes_max || !self.make_room(&owner, size, rules) {
            return;
        }
        let number = self.next;
        self.next += 1;
        self.change_share(&owner, |share| {
            share.numbers.push_back(number);
            share.bytes += size;
        });
        self.bytes += size;
        let kept = Kept {
            owner,
            asked: why.asked,
            fired: now,
            event: event.clone(),
        };
        self.events.insert(number, kept);
    }

    /// The number of the next event that is kept.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// The events kept before the event of a number and fired after a moment, oldest
    /// first.
    pub(super) fn between(&self, after: Option<Instant>, before: u64) -> Vec<Missed> {
        let events = self.events.range(..before).map(|(_, kept)| kept);
        let missed = events.filter(|kept| after.is_none_or(|after| kept.fired > after));
        missed
            .map(|kept| Missed {
                asked: kept.asked,
                event: kept.event.clone(),
            })
            .collect()
    }

    /// Forgets what is too old; how long until there is more to forget.
    pub(super) fn forget(&mut self, now: Instant, rules: &LateListening) -> Option<Duration> {
        while let Some((_, oldest)) = self.events.first_key_value() {
            let age = now.saturating_duration_since(oldest.fired);
            if age < rules.span {
                return Some(rules.span.saturating_sub(age));
            }
            let owner = Arc::clone(&oldest.owner);
            self.drop_oldest_of(&owner);
        }
        None
    }

    /// Whether an event of this size has room, which its owner makes, or
    /// whoever has more than its owner would have.
    fn make_room(&mut self, owner: &Arc<str>, size: usize, rules: &LateListening) -> bool {
        while self.bytes_of(owner) + size > rules.owner_bytes_max {
            if !self.drop_oldest_of(owner) {
                return false;
            }
        }
        while self.bytes + size > rules.bytes_max {
            let own = self.bytes_of(owner) + size;
            let fullest = self.ranks.last().filter(|(bytes, _)| *bytes > own);
            let gives_way = fullest.map_or(owner, |(_, fullest)| fullest).clone();
            if !self.drop_oldest_of(&gives_way) {
                return false;
            }
        }
        true
    }

    fn bytes_of(&self, owner: &str) -> usize {
        self.shares.get(owner).map_or(0, |share| share.bytes)
    }

    fn drop_oldest_of(&mut self, owner: &Arc<str>) -> bool {
        let share = self.shares.get(owner);
        let number = share.and_then(|share| share.numbers.front().copied());
        let Some(kept) = number.and_then(|number| self.events.remove(&number)) else {
            return false;
        };
        let size = size_of(&kept.event);
        self.bytes -= size;
        self.change_share(owner, |share| {
            share.numbers.pop_front();
            share.bytes -= size;
        });
        true
    }

    fn change_share(&mut self, owner: &Arc<str>, change: impl FnOnce(&mut Share)) {
        let share = self.shares.entry(Arc::clone(owner)).or_default();
        self.ranks.remove(&(share.bytes, Arc::clone(owner)));
        change(share);
        if share.numbers.is_empty() {
            self.shares.remove(owner);
        } else {
            self.ranks.insert((share.bytes, Arc::clone(owner)));
        }
    }
}

/// What an event takes of the room.
fn size_of(event: &BusEvent) -> usize {
    event.size() + LATE_EVENT_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::bus_event::Origin;
    use super::*;

    /// An event of this size takes as much room.
    const UNIT: usize = 1000;
    const RULES: LateListening = LateListening {
        span: Duration::from_millis(500),
        owner_bytes_max: 6 * UNIT,
        bytes_max: 10 * UNIT,
    };

    /// An event that takes `units` of the room.
    fn event(tag: &str, units: usize) -> BusEvent {
        let bare = BusEvent::new(format!("{tag}\n\n").as_bytes(), Origin::Here).unwrap();
        // A longer body has a longer length in front.
        let data = "x".repeat(units * UNIT - size_of(&bare) - 1);
        let event = BusEvent::new(format!("{tag}\n\n{data}").as_bytes(), Origin::Here).unwrap();
        assert_eq!(size_of(&event), units * UNIT);
        event
    }

    /// Keeps an event of `owner`, and returns the time.
    fn keep(recent: &mut Recent, owner: &str, tag: &str, units: usize, now: Instant) {
        let why = ForLate { owner, asked: now };
        recent.keep(&event(tag, units), why, now, &RULES);
        assert!(recent.bytes <= RULES.bytes_max);
        let shares = recent.shares.values();
        assert_eq!(shares.map(|share| share.bytes).sum::<usize>(), recent.bytes);
        assert_eq!(recent.ranks.len(), recent.shares.len());
    }

    fn tags(recent: &Recent) -> Vec<String> {
        let missed = recent.between(None, recent.next_number());
        let tags = missed.iter().map(|missed| missed.event.tag().to_owned());
        tags.collect()
    }

    #[test]
    fn events_are_kept_for_a_while() {
        let mut recent = Recent::default();
        let start = Instant::now();
        keep(&mut recent, "a", "a1", 1, start);
        let later = start + Duration::from_millis(400);
        keep(&mut recent, "b", "b1", 1, later);
        assert_eq!(tags(&recent), ["a1", "b1"]);
        let wait = recent.forget(later, &RULES);
        assert_eq!(wait, Some(Duration::from_millis(100)));
        recent.forget(later + Duration::from_millis(100), &RULES);
        assert_eq!(tags(&recent), ["b1"]);
        let end = later + Duration::from_millis(500);
        assert_eq!(recent.forget(end, &RULES), None);
        assert!(tags(&recent).is_empty() && recent.shares.is_empty());
        assert_eq!(recent.bytes, 0);
    }

    #[test]
    fn somebody_is_given_what_came_between_two_moments() {
        let mut recent = Recent::default();
        let start = Instant::now();
        keep(&mut recent, "a", "a1", 1, start);
        let later = start + Duration::from_millis(1);
        keep(&mut recent, "a", "a2", 1, later);
        let connected = recent.next_number();
        keep(&mut recent, "a", "a3", 1, later);
        let missed = recent.between(Some(start), connected);
        assert_eq!(missed.len(), 1);
        assert_eq!(missed[0].event.tag(), "a2");
        assert_eq!(missed[0].asked, later);
    }

    #[test]
    fn who_floods_evicts_nobody_but_himself() {
        let mut recent = Recent::default();
        let now = Instant::now();
        for owner in ["a", "b"] {
            keep(&mut recent, owner, owner, 1, now);
        }
        for n in 0..100 {
            keep(&mut recent, "evil", &format!("junk{n}"), 1, now);
        }
        let kept = tags(&recent);
        assert_eq!(kept[..2], ["a", "b"]);
        // Its share, the newest of it.
        assert_eq!(
            kept[2..],
            [94, 95, 96, 97, 98, 99].map(|n| format!("junk{n}"))
        );
        // Others find their room all the same.
        for owner in ["c", "d", "e", "f", "g", "h"] {
            keep(&mut recent, owner, owner, 1, now);
        }
        let kept = tags(&recent);
        assert_eq!(
            kept,
            ["a", "b", "junk98", "junk99", "c", "d", "e", "f", "g", "h"]
        );
        keep(&mut recent, "i", "i", 1, now);
        assert_eq!(tags(&recent)[2..4], ["junk99", "c"]);
        keep(&mut recent, "j", "j", 1, now);
        assert!(!tags(&recent).contains(&"j".to_owned()), "all have as much");
        assert!(tags(&recent).contains(&"a".to_owned()));
    }

    #[test]
    fn a_large_one_is_kept_where_nobody_else_needs_the_room() {
        let mut recent = Recent::default();
        let now = Instant::now();
        keep(&mut recent, "big", "old", 1, now);
        keep(&mut recent, "big", "large", 6, now);
        assert_eq!(tags(&recent), ["large"], "made room by its owner's own");
        for n in 0..4 {
            keep(&mut recent, &format!("web{n}"), "small", 1, now);
        }
        keep(&mut recent, "other", "large too", 5, now);
        assert!(!tags(&recent).contains(&"large".to_owned()), "had the most");
        assert!(tags(&recent).contains(&"large too".to_owned()));
        keep(&mut recent, "big", "large", 6, now);
        assert!(
            !tags(&recent).contains(&"large".to_owned()),
            "would have the most"
        );
        keep(&mut recent, "big", "too large", 7, now);
        assert_eq!(tags(&recent).len(), 5);
    }
}
