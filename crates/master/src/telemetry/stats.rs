//! The durations of requests: fired on the event bus (`master_stats`), and on the
//! page of metrics.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::core::stats;
use crate::events::bus::Bus;
use crate::telemetry::meters::Meters;

/// Measures requests, if it is to.
#[derive(Default)]
pub(crate) struct Stats {
    told: Option<Mutex<stats::Stats>>,
    meters: Option<Meters>,
}

impl Stats {
    /// Statistics that are fired in this interval; `None` for no statistics.
    pub(crate) fn new(every: Option<Duration>, meters: Option<Meters>) -> Self {
        let told = every.map(|every| stats::Stats::new(every, Instant::now()));
        Self {
            told: told.map(Mutex::new),
            meters,
        }
    }

    /// The name that a request is counted under; none where nobody counts.
    pub(crate) fn name(&self, cmd: &str) -> Option<String> {
        let is_on = self.told.is_some() || self.meters.is_some();
        is_on.then(|| cmd.to_owned())
    }

    /// Handles a request, and counts it under its name.
    pub(crate) fn measure<T>(
        &self,
        bus: &Bus,
        name: Option<String>,
        handle: impl FnOnce() -> T,
    ) -> T {
        let Some(name) = name else {
            return handle();
        };
        let begun = Instant::now();
        let handled = handle();
        let now = Instant::now();
        if let Some(meters) = &self.meters {
            meters.handled(&name, now - begun);
        }
        let told = self.told.as_ref().and_then(|stats| {
            let mut stats = stats.lock().unwrap_or_else(PoisonError::into_inner);
            stats.record(&name, now - begun, now)
        });
        if let Some(data) = told {
            bus.fire_under("stats", [stats::WORKER], data);
        }
        handled
    }
}
