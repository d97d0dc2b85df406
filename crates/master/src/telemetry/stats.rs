//! `master_stats`: how long requests are handled, told on the event bus.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::core::stats;
use crate::events::bus::Bus;

/// Measures requests, if it is to.
#[derive(Debug, Default)]
pub(crate) struct Stats(Option<Mutex<stats::Stats>>);

impl Stats {
    /// Statistics that are told so often; `None` for none at all.
    pub(crate) fn new(every: Option<Duration>) -> Self {
        let stats = every.map(|every| stats::Stats::new(every, Instant::now()));
        Self(stats.map(Mutex::new))
    }

    /// The name that a request is counted under; none where nobody counts.
    pub(crate) fn name(&self, cmd: &str) -> Option<String> {
        self.0.is_some().then(|| cmd.to_owned())
    }

    /// Handles a request, and counts it under its name.
    pub(crate) fn measure<T>(
        &self,
        bus: &Bus,
        name: Option<String>,
        handle: impl FnOnce() -> T,
    ) -> T {
        let (Some(stats), Some(name)) = (&self.0, name) else {
            return handle();
        };
        let begun = Instant::now();
        let handled = handle();
        let now = Instant::now();
        let told =
            stats
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .record(&name, now - begun, now);
        if let Some(data) = told {
            bus.fire_under("stats", [stats::WORKER], data);
        }
        handled
    }
}
