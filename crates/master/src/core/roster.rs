//! Which minions have a connection to the publish port, as they say themselves
//! by the topic of their presence, and by their pulse: when that stops, the
//! cable is cut, although the connection still stands.
//!
//! Only Halite minions say it; of others nothing is known here. Invariant: who
//! is listed as away has been here and was heard leaving, so nobody is taken
//! for away who only does not speak of it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use halite_proto::MinionId;

/// What is known of a minion's connection; times are in microseconds since
/// 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Connected since then.
    Here(u64),
    /// Not connected since then.
    Away(u64),
}

/// How long a pulse may be away before its minion counts as gone.
pub const PULSE_MISSED: Duration = Duration::from_millis(1500);

/// How often silent pulses are looked for.
pub const PULSE_CHECK: Duration = Duration::from_millis(200);

/// A look that is later than this says that this master was held up itself:
/// pulses wait to be read, and nobody is judged by them.
const HELD_UP: Duration = Duration::from_millis(600);

/// The connections of Halite minions.
#[derive(Debug, Default)]
pub struct Roster {
    seats: HashMap<MinionId, Seat>,
    /// The last pulse of those who have one.
    pulses: HashMap<MinionId, Instant>,
    looked: Option<Instant>,
    /// Nobody is judged before this moment.
    trusting_until: Option<Instant>,
    /// Most minions that are kept.
    seats_max: usize,
}

impl Roster {
    /// Keeps at most `seats_max` minions: anybody can subscribe to anything.
    /// Beyond it those that are away are forgotten, then nobody is added.
    pub fn new(seats_max: usize) -> Self {
        Self {
            seats_max,
            ..Self::default()
        }
    }

    /// A minion's first connection is there, or its last one is gone. Whether
    /// that changes what is known.
    pub fn heard(&mut self, id: MinionId, is_here: bool, now_micros: u64) -> bool {
        let known = self.seats.get(&id).copied();
        match (known, is_here) {
            (Some(Seat::Here(_)), true) | (None | Some(Seat::Away(_)), false) => return false,
            _ => {}
        }
        if known.is_none() && self.seats.len() >= self.seats_max {
            self.seats.retain(|_, seat| matches!(seat, Seat::Here(_)));
            if self.seats.len() >= self.seats_max {
                return false;
            }
        }
        let seat = if is_here {
            Seat::Here(now_micros)
        } else {
            self.pulses.remove(&id);
            Seat::Away(now_micros)
        };
        self.seats.insert(id, seat);
        true
    }

    /// A minion has said that it is there. Whether that changes what is known.
    pub fn pulse(&mut self, id: MinionId, now: Instant, now_micros: u64) -> bool {
        if let Some(last) = self.pulses.get_mut(&id) {
            *last = now;
            return false;
        }
        let has_come = self.heard(id.clone(), true, now_micros);
        if self.seats.contains_key(&id) {
            self.pulses.insert(id, now);
        }
        has_come
    }

    /// Notes who has fallen silent, and says who.
    pub fn check_pulses(&mut self, now: Instant, now_micros: u64) -> Vec<MinionId> {
        let looked = self.looked.replace(now);
        if looked.is_some_and(|looked| now.duration_since(looked) > HELD_UP) {
            self.trusting_until = Some(now + PULSE_MISSED);
        }
        if self.trusting_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        let silent = |last: &Instant| now.saturating_duration_since(*last) > PULSE_MISSED;
        let silent: Vec<MinionId> = self
            .pulses
            .iter()
            .filter(|(_, last)| silent(last))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &silent {
            self.heard(id.clone(), false, now_micros);
        }
        silent
    }

    /// The minion has signed in without saying that it speaks of its presence:
    /// what an earlier minion of this name said does not hold for it.
    pub fn forget(&mut self, id: &MinionId) {
        self.seats.remove(id);
        self.pulses.remove(id);
    }

    /// What is known of a minion.
    pub fn of(&self, id: &MinionId) -> Option<Seat> {
        self.seats.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    #[test]
    fn changes_are_noted_once() {
        let mut roster = Roster::new(10);
        // Who was never here is not away.
        assert!(!roster.heard(id("web1"), false, 1));
        assert_eq!(roster.of(&id("web1")), None);
        assert!(roster.heard(id("web1"), true, 2));
        assert!(!roster.heard(id("web1"), true, 3));
        assert_eq!(roster.of(&id("web1")), Some(Seat::Here(2)));
        assert!(roster.heard(id("web1"), false, 4));
        assert!(!roster.heard(id("web1"), false, 5));
        assert_eq!(roster.of(&id("web1")), Some(Seat::Away(4)));
        roster.forget(&id("web1"));
        assert_eq!(roster.of(&id("web1")), None);
    }

    #[test]
    fn who_falls_silent_is_away_until_the_next_pulse() {
        let mut roster = Roster::new(10);
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        roster.heard(id("quiet"), true, 1);
        roster.heard(id("web1"), true, 1);
        for ms in (0..=1000).step_by(200) {
            assert!(!roster.pulse(id("web1"), at(ms), 2));
            assert!(roster.check_pulses(at(ms), 2).is_empty());
        }
        for ms in (1200..=2400).step_by(200) {
            assert!(roster.check_pulses(at(ms), 3).is_empty(), "at {ms}");
        }
        assert_eq!(roster.check_pulses(at(2600), 4), [id("web1")]);
        assert_eq!(roster.of(&id("web1")), Some(Seat::Away(4)));
        assert_eq!(
            roster.of(&id("quiet")),
            Some(Seat::Here(1)),
            "it has no pulse"
        );
        assert!(roster.check_pulses(at(2800), 5).is_empty(), "told once");
        assert!(roster.pulse(id("web1"), at(3000), 6));
        assert_eq!(roster.of(&id("web1")), Some(Seat::Here(6)));
        // The connection ends: its pulse is not missed besides.
        roster.heard(id("web1"), false, 7);
        assert!(roster.check_pulses(at(3200), 8).is_empty());
    }

    #[test]
    fn a_master_that_was_held_up_itself_judges_nobody() {
        let mut roster = Roster::new(10);
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        roster.pulse(id("web1"), at(0), 1);
        roster.check_pulses(at(0), 1);
        for ms in [10_000, 10_200, 11_400] {
            assert!(roster.check_pulses(at(ms), 2).is_empty(), "at {ms}");
        }
        let mut gone = Vec::new();
        for ms in (11_600..12_400).step_by(200) {
            gone.extend(roster.check_pulses(at(ms), 3));
        }
        assert!(gone.is_empty(), "a late look begins a new time of trust");
        for ms in (12_400..14_000).step_by(200) {
            gone.extend(roster.check_pulses(at(ms), 3));
        }
        assert_eq!(gone, [id("web1")]);
    }

    #[test]
    fn a_flood_of_names_drives_nobody_out_who_is_here() {
        let mut roster = Roster::new(2);
        roster.heard(id("a"), true, 1);
        roster.heard(id("b"), true, 1);
        roster.heard(id("b"), false, 2);
        assert!(roster.heard(id("c"), true, 3));
        assert!(!roster.heard(id("d"), true, 4));
        assert_eq!(roster.of(&id("a")), Some(Seat::Here(1)));
        assert_eq!(roster.of(&id("b")), None);
    }
}
