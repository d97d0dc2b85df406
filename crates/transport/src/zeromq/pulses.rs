//! Pulses of minions: when one stops, its cable is cut, although its
//! connection still stands.
//!
//! Invariant: nobody is called silent who has never had a pulse, nor while
//! this process was held up itself.

use std::collections::HashMap;
use std::time::Instant;

use halite_proto::MinionId;

use crate::limits::{PULSE_HELD_UP, PULSE_MISSED, PULSES_MAX};

/// The last pulse of every minion that has one.
#[derive(Debug, Default)]
pub(super) struct Pulses {
    last: HashMap<MinionId, Instant>,
    checked: Option<Instant>,
    /// Nobody is called silent before this moment.
    trusting_until: Option<Instant>,
}

impl Pulses {
    /// Records a pulse. False if there are too many minions, and this one is
    /// not kept.
    pub(super) fn beat(&mut self, id: &MinionId, now: Instant) -> bool {
        if let Some(last) = self.last.get_mut(id) {
            *last = now;
            return true;
        }
        if self.last.len() >= PULSES_MAX {
            return false;
        }
        self.last.insert(id.clone(), now);
        true
    }

    /// Forgets a minion whose subscription has ended.
    pub(super) fn remove(&mut self, id: &MinionId) {
        self.last.remove(id);
    }

    /// Removes those who have fallen silent, and returns them.
    pub(super) fn take_silent(&mut self, now: Instant) -> Vec<MinionId> {
        let checked = self.checked.replace(now);
        if checked.is_some_and(|checked| now.duration_since(checked) > PULSE_HELD_UP) {
            self.trusting_until = Some(now + PULSE_MISSED);
        }
        if self.trusting_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        let silent = |last: &Instant| now.saturating_duration_since(*last) > PULSE_MISSED;
        let gone: Vec<MinionId> = self
            .last
            .iter()
            .filter(|(_, last)| silent(last))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &gone {
            self.last.remove(id);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    #[test]
    fn a_minion_whose_pulse_stops_is_silent_once() {
        let mut pulses = Pulses::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for ms in (0..=1000).step_by(200) {
            assert!(pulses.beat(&web1(), at(ms)));
            assert!(pulses.take_silent(at(ms)).is_empty());
        }
        for ms in (1200..=2400).step_by(200) {
            assert!(pulses.take_silent(at(ms)).is_empty(), "at {ms}");
        }
        assert_eq!(pulses.take_silent(at(2600)), [web1()]);
        assert!(pulses.take_silent(at(2800)).is_empty(), "said once");
        assert!(pulses.beat(&web1(), at(3000)));
        // The connection ends: its pulse is not missed besides.
        pulses.remove(&web1());
        for ms in (3000..6000).step_by(200) {
            assert!(pulses.take_silent(at(ms)).is_empty(), "at {ms}");
        }
    }

    #[test]
    fn a_process_that_was_held_up_itself_calls_nobody_silent() {
        let mut pulses = Pulses::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        pulses.beat(&web1(), at(0));
        pulses.take_silent(at(0));
        for ms in [10_000, 10_200, 11_400] {
            assert!(pulses.take_silent(at(ms)).is_empty(), "at {ms}");
        }
        let mut gone = Vec::new();
        for ms in (11_600..12_400).step_by(200) {
            gone.extend(pulses.take_silent(at(ms)));
        }
        assert!(gone.is_empty(), "a late check begins a new time of trust");
        for ms in (12_400..14_000).step_by(200) {
            gone.extend(pulses.take_silent(at(ms)));
        }
        assert_eq!(gone, [web1()]);
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut pulses = Pulses::default();
        let now = Instant::now();
        for number in 0..PULSES_MAX {
            let id = MinionId::parse(format!("m{number}")).unwrap();
            assert!(pulses.beat(&id, now));
        }
        assert!(!pulses.beat(&web1(), now));
        let known = MinionId::parse("m0").unwrap();
        assert!(pulses.beat(&known, now));
    }
}
