//! Whether a server is available.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Since when it is away; `None` if it is there, as far as is known.
    pub away_since: Option<SystemTime>,
    /// Why it is thought to be away.
    pub reason: Option<String>,
}

/// Whether a server is there, and since when it is not.
#[derive(Debug, Default)]
pub(crate) struct Health(Mutex<Option<Away>>);

#[derive(Debug)]
struct Away {
    since: Instant,
    wall: SystemTime,
    reason: String,
}

impl Health {
    /// For how long the server has been away.
    pub(crate) fn away_for(&self, now: Instant) -> Option<Duration> {
        let away = self.lock();
        let away = away.as_ref()?;
        Some(now.saturating_duration_since(away.since))
    }

    pub(crate) fn status(&self) -> Status {
        let away = self.lock();
        Status {
            away_since: away.as_ref().map(|away| away.wall),
            reason: away.as_ref().map(|away| away.reason.clone()),
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

    fn lock(&self) -> MutexGuard<'_, Option<Away>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
