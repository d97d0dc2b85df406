//! Whether a server is available, and takes what is to be kept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::limits::REFUSAL_KNOWN;

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Since when it is away; `None` if it is there, as far as is known.
    pub away_since: Option<SystemTime>,
    /// Why it is thought to be away.
    pub reason: Option<String>,
    /// Since when it refuses what is to be kept; `None` if it takes it, as far as is
    /// known.
    pub refuses: Option<Refuses>,
}

/// That a server is there and keeps nothing: it is full, or read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refuses {
    /// Since when.
    pub since: SystemTime,
    /// What it said the last time.
    pub reason: String,
}

/// Whether a server is there and since when it is not, and whether it keeps what it is
/// given.
#[derive(Debug, Default)]
pub(crate) struct Health {
    away: Mutex<Option<Away>>,
    refusal: Mutex<Option<Refusal>>,
}

#[derive(Debug)]
struct Away {
    since: Instant,
    wall: SystemTime,
    reason: String,
}

#[derive(Debug)]
struct Refusal {
    refuses: Refuses,
    /// Of the last refusal.
    last: Instant,
}

impl Health {
    /// For how long the server has been away.
    pub(crate) fn away_for(&self, now: Instant) -> Option<Duration> {
        let away = self.lock();
        let away = away.as_ref()?;
        Some(now.saturating_duration_since(away.since))
    }

    pub(crate) fn status(&self, now: Instant) -> Status {
        let refuses = {
            let refusal = self.refusal();
            let known = refusal.as_ref().filter(|refusal| refusal.is_known(now));
            known.map(|refusal| refusal.refuses.clone())
        };
        let away = self.lock();
        Status {
            away_since: away.as_ref().map(|away| away.wall),
            reason: away.as_ref().map(|away| away.reason.clone()),
            refuses,
        }
    }

    /// Says that the server is away; false if that was known.
    pub(crate) fn leave(&self, reason: String) -> bool {
        let mut away = self.lock();
        if away.is_some() {
            return false;
        }
        *away = Some(Away {
            since: Instant::now(),
            wall: SystemTime::now(),
            reason,
        });
        true
    }

    /// Says that the server is there, and gives how long it was away.
    pub(crate) fn come_back(&self) -> Option<Duration> {
        self.lock().take().map(|away| away.since.elapsed())
    }

    /// Takes note that something was kept, or of why it was not; true if that is news.
    pub(crate) fn note_write(&self, refused: Option<String>, now: Instant) -> bool {
        let mut refusal = self.refusal();
        let known = refusal.take().filter(|refusal| refusal.is_known(now));
        let is_news = known.is_some() != refused.is_some();
        *refusal = refused.map(|reason| {
            let since = known.map_or_else(SystemTime::now, |known| known.refuses.since);
            Refusal {
                refuses: Refuses { since, reason },
                last: now,
            }
        });
        is_news
    }

    fn refusal(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Away>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refusal {
    /// Whether it may still be so: of a server that nobody gives anything it is not known.
    fn is_known(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) <= REFUSAL_KNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_until_something_is_kept_or_it_is_old() {
        let health = Health::default();
        let begun = Instant::now();
        let full = || Some("full".to_owned());
        assert!(!health.note_write(None, begun));
        assert!(health.note_write(full(), begun));
        let first = health.status(begun).refuses.unwrap();
        assert_eq!(first.reason, "full");
        assert!(!health.note_write(Some("still full".to_owned()), begun + REFUSAL_KNOWN));
        let later = health.status(begun + REFUSAL_KNOWN).refuses.unwrap();
        assert_eq!(
            (later.since, later.reason.as_str()),
            (first.since, "still full")
        );
        assert!(health.note_write(None, begun + REFUSAL_KNOWN));
        assert_eq!(health.status(begun + REFUSAL_KNOWN).refuses, None);
        health.note_write(full(), begun);
        let old = begun + REFUSAL_KNOWN + Duration::from_millis(1);
        assert_eq!(health.status(old).refuses, None);
        assert!(health.note_write(full(), old), "it begins anew");
    }
}
