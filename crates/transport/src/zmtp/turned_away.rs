//! How many connections were refused, and when that is logged.

use std::time::Instant;

use crate::limits::TURNED_AWAY_SAID_EVERY;

/// The connections that were turned away.
#[derive(Debug, Default)]
pub(crate) struct TurnedAway {
    all: u64,
    unsaid: u64,
    said: Option<Instant>,
}

impl TurnedAway {
    /// Counts one more; returns how many to log, when it is time to.
    pub(crate) fn record(&mut self, now: Instant) -> Option<u64> {
        self.all += 1;
        self.unsaid += 1;
        let since = self.said.map(|said| now.saturating_duration_since(said));
        if since.is_some_and(|since| since < TURNED_AWAY_SAID_EVERY) {
            return None;
        }
        self.said = Some(now);
        Some(std::mem::take(&mut self.unsaid))
    }

    /// All.
    pub(crate) fn all(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_said_at_once_and_then_once_a_minute() {
        let mut turned_away = TurnedAway::default();
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(turned_away.record(begin), Some(1));
        assert_eq!(turned_away.record(after(1)), None);
        assert_eq!(turned_away.record(after(59)), None);
        assert_eq!(turned_away.record(after(60)), Some(3));
        assert_eq!(turned_away.record(after(300)), Some(1));
        assert_eq!(turned_away.all(), 5);
    }
}
