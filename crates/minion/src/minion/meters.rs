//! The counters and measurements of a minion for monitoring.

use std::time::Duration;

use halite_metrics::{Count, Instruments, Timing};
use halite_proto::publish::FunSpec;

/// Counters and histograms of a minion.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    runs: Count,
    durations: Timing,
}

impl Meters {
    pub(crate) fn new(on: &mut Instruments) -> Self {
        Self {
            runs: on.count(
                "halite.minion.jobs.run",
                "Jobs that have ended",
                &["fun", "success"],
            ),
            durations: on.timing("salt.minion.exec.duration", "Run time of functions", "fun"),
        }
    }

    /// Functions have run.
    pub(crate) fn ran(&self, functions: &FunSpec, success: bool, took: Duration) {
        let function = match functions.names() {
            [one] => one.as_str(),
            _ => "several",
        };
        let success = if success { "true" } else { "false" };
        self.runs.add(&[function, success]);
        self.durations.add(function, took);
    }
}
