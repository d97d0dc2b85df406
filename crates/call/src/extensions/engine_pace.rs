//! How fast an engine may ask and log.
//!
//! Invariant: whatever an engine does, a bounded number of its messages is handled in a
//! second, and a bounded part of the log is its own; both are said when they begin.

use std::time::{Duration, Instant};

use crate::limits::{
    ENGINE_BURST, ENGINE_LOG_BYTES_PER_MINUTE_MAX, ENGINE_MESSAGES_PER_S, LOG_LINE_BYTES,
};

/// The interval of what is counted for the log, and how often the same is said.
const MINUTE: Duration = Duration::from_secs(60);

/// What an engine has asked and logged.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last message would have come at the pace.
    due: Option<Instant>,
    slowed_said: Option<Instant>,
    log_since: Option<Instant>,
    logged_bytes: usize,
}

/// An engine that is too fast.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slowed {
    /// How long its message waits.
    pub(super) wait: Duration,
    /// Whether that is to be said.
    pub(super) is_news: bool,
}

/// What becomes of a message for the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Logged {
    /// It is logged.
    Yes,
    /// It is left out, as the first one of a minute, which is to be said.
    FirstLeftOut,
    /// It is left out.
    LeftOut,
}

impl Pace {
    /// Counts a message; `None` if it is handled at once.
    pub(super) fn message(&mut self, now: Instant) -> Option<Slowed> {
        let interval = Duration::from_secs(1) / ENGINE_MESSAGES_PER_S;
        let earliest = now.checked_sub(ENGINE_BURST).unwrap_or(now);
        let due = self.due.map_or(earliest, |due| due.max(earliest)) + interval;
        self.due = Some(due);
        let wait = due.saturating_duration_since(now);
        if wait.is_zero() {
            return None;
        }
        let is_over = |said: Instant| now.saturating_duration_since(said) >= MINUTE;
        let is_news = self.slowed_said.is_none_or(is_over);
        if is_news {
            self.slowed_said = Some(now);
        }
        Some(Slowed { wait, is_news })
    }

    /// Counts a message of so many bytes for the log.
    pub(super) fn log(&mut self, bytes: usize, now: Instant) -> Logged {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= MINUTE;
        if self.log_since.is_none_or(is_over) {
            self.log_since = Some(now);
            self.logged_bytes = 0;
        }
        let was_full = self.logged_bytes > ENGINE_LOG_BYTES_PER_MINUTE_MAX;
        self.logged_bytes = self.logged_bytes.saturating_add(bytes + LOG_LINE_BYTES);
        match self.logged_bytes > ENGINE_LOG_BYTES_PER_MINUTE_MAX {
            false => Logged::Yes,
            true if was_full => Logged::LeftOut,
            true => Logged::FirstLeftOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_made_up_for_and_then_the_pace_is_kept() {
        let (start, mut pace) = (Instant::now() + MINUTE, Pace::default());
        let at_once = ENGINE_MESSAGES_PER_S * u32::try_from(ENGINE_BURST.as_secs()).unwrap();
        for number in 0..at_once {
            assert_eq!(pace.message(start), None, "{number}");
        }
        let interval = Duration::from_secs(1) / ENGINE_MESSAGES_PER_S;
        let slowed = |times: u32, is_news| {
            let wait = interval * times;
            Some(Slowed { wait, is_news })
        };
        assert_eq!(pace.message(start), slowed(1, true));
        assert_eq!(pace.message(start), slowed(2, false));
        // Who comes at the pace does not wait longer and longer.
        assert_eq!(pace.message(start + interval), slowed(2, false));
        let later = start + Duration::from_secs(1);
        let since = (0..at_once).take_while(|_| pace.message(later).is_none());
        assert_eq!(
            since.count(),
            usize::try_from(ENGINE_MESSAGES_PER_S).unwrap() - 3
        );
        assert!(pace.message(start + MINUTE).is_none());
    }

    #[test]
    fn what_is_slowed_for_long_is_said_once_a_minute() {
        let (start, mut pace) = (Instant::now() + MINUTE, Pace::default());
        let mut said = 0;
        let mut now = start;
        while now < start + MINUTE * 3 {
            if let Some(slowed) = pace.message(now) {
                said += u32::from(slowed.is_news);
                now += slowed.wait;
            }
        }
        assert_eq!(said, 3);
    }

    #[test]
    fn the_log_has_so_much_of_an_engine_in_a_minute() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let half = ENGINE_LOG_BYTES_PER_MINUTE_MAX / 2 - LOG_LINE_BYTES;
        for minute in 0..2 {
            let now = start + MINUTE * minute;
            assert_eq!(pace.log(half, now), Logged::Yes);
            assert_eq!(pace.log(half, now), Logged::Yes);
            assert_eq!(pace.log(0, now), Logged::FirstLeftOut);
            assert_eq!(pace.log(0, now + MINUTE / 2), Logged::LeftOut);
        }
        // However large a message is.
        let later = start + MINUTE * 2;
        assert_eq!(pace.log(usize::MAX / 2, later), Logged::FirstLeftOut);
        assert_eq!(pace.log(0, later), Logged::LeftOut);
    }
}
