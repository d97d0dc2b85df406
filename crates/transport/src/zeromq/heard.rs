//! Which minions were heard over which connection: a minion that falls silent has a
//! cut cable, although its connection was not closed.
//!
//! Invariant: a minion is never called silent if it was never heard, or while this
//! process itself was delayed.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use halite_proto::MinionId;

use crate::limits::{MINIONS_HEARD_MAX, SILENCE_CHECK_HELD_UP};

/// Where and when each minion was heard last.
#[derive(Debug, Default)]
pub(super) struct Heard {
    last: HashMap<MinionId, (Instant, u64)>,
    checked: Option<Instant>,
    /// No minion counts as silent before this moment.
    trusting_until: Option<Instant>,
}

impl Heard {
    /// Records a sign of life over a connection. False if there are too many
    /// minions, and this one is not kept.
    pub(super) fn record(&mut self, id: &MinionId, connection: u64, now: Instant) -> bool {
        if let Some(last) = self.last.get_mut(id) {
            *last = (now, connection);
            return true;
        }
        if self.last.len() >= MINIONS_HEARD_MAX {
            return false;
        }
        self.last.insert(id.clone(), (now, connection));
        true
    }

    /// A connection over which a minion was heard has ended; whether it was the
    /// last one.
    pub(super) fn leave(&mut self, id: &MinionId, connection: u64) -> bool {
        let is_last = matches!(self.last.get(id), Some((_, last)) if *last == connection);
        is_last && self.last.remove(id).is_some()
    }

    /// Removes those who have said nothing for longer than `missed`, and returns
    /// them.
    pub(super) fn take_silent(&mut self, now: Instant, missed: Duration) -> Vec<MinionId> {
        let checked = self.checked.replace(now);
        if checked.is_some_and(|checked| now.duration_since(checked) > SILENCE_CHECK_HELD_UP) {
            self.trusting_until = Some(now + missed);
        }
        if self.trusting_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        let silent = |last: &Instant| now.saturating_duration_since(*last) > missed;
        let gone: Vec<MinionId> = self
            .last
            .iter()
            .filter(|(_, (last, _))| silent(last))
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
    use super::*;

    const MISSED: Duration = Duration::from_millis(1500);

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    #[test]
    fn a_minion_that_is_not_heard_any_more_is_silent_once() {
        let mut heard = Heard::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for ms in (0..=1000).step_by(200) {
            assert!(heard.record(&web1(), 1, at(ms)));
            assert!(heard.take_silent(at(ms), MISSED).is_empty());
        }
        for ms in (1200..=2400).step_by(200) {
            assert!(heard.take_silent(at(ms), MISSED).is_empty(), "at {ms}");
        }
        assert_eq!(heard.take_silent(at(2600), MISSED), [web1()]);
        assert!(heard.take_silent(at(2800), MISSED).is_empty(), "said once");
        assert!(heard.record(&web1(), 1, at(3000)));
        // An older connection ends, then the one it was heard over: it is not
        // missed besides.
        assert!(!heard.leave(&web1(), 0));
        assert!(heard.leave(&web1(), 1));
        assert!(!heard.leave(&web1(), 1));
        for ms in (3000..6000).step_by(200) {
            assert!(heard.take_silent(at(ms), MISSED).is_empty(), "at {ms}");
        }
    }

    #[test]
    fn a_process_that_was_held_up_itself_calls_nobody_silent() {
        let mut heard = Heard::default();
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        heard.record(&web1(), 1, at(0));
        heard.take_silent(at(0), MISSED);
        for ms in [10_000, 10_200, 11_400] {
            assert!(heard.take_silent(at(ms), MISSED).is_empty(), "at {ms}");
        }
        let mut gone = Vec::new();
        for ms in (11_600..12_400).step_by(200) {
            gone.extend(heard.take_silent(at(ms), MISSED));
        }
        assert!(gone.is_empty(), "a late check begins a new time of trust");
        for ms in (12_400..14_000).step_by(200) {
            gone.extend(heard.take_silent(at(ms), MISSED));
        }
        assert_eq!(gone, [web1()]);
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut heard = Heard::default();
        let now = Instant::now();
        for number in 0..MINIONS_HEARD_MAX {
            let id = MinionId::parse(format!("m{number}")).unwrap();
            assert!(heard.record(&id, 1, now));
        }
        assert!(!heard.record(&web1(), 1, now));
        let known = MinionId::parse("m0").unwrap();
        assert!(heard.record(&known, 1, now));
    }
}
