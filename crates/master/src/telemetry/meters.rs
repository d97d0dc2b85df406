//! The metrics of `metrics`, under Salt's names where Salt has them.

use std::time::Duration;

use halite_metrics::{Count, Instruments, MetricsSettings, Timing};
use halite_proto::returns::JobReturn;

use crate::core::gate::Cause;

/// The first parts of the tags that masters fire; minions choose others.
const TAG_PREFIXES: [&str; 16] = [
    "auth",
    "batch",
    "beacon",
    "cluster",
    "fileserver",
    "job",
    "key",
    "minion",
    "minion_start",
    "netapi",
    "presence",
    "run",
    "state_result",
    "stats",
    "syndic",
    "wheel",
];

/// The counters and histograms of the master.
#[derive(Clone)]
pub(crate) struct Meters {
    published: Count,
    completed: Count,
    stored: Count,
    sign_ins: Count,
    refused: Count,
    handled: Count,
    durations: Timing,
    /// Events, by the first part of their tags.
    pub(crate) fired: Count,
}

impl Meters {
    /// The meters, and the page that they are on.
    pub(crate) fn new(settings: &MetricsSettings) -> (Self, Instruments) {
        let mut on = Instruments::new(settings);
        let published = on.count("salt.jobs.published", "Jobs sent to minions", &["fun"]);
        let completed = on.count(
            "salt.jobs.completed",
            "Returns of minions",
            &["fun", "success"],
        );
        let meters = Self {
            completed: completed.naming_as(&published).reserving(&["several"]),
            published,
            stored: on.count(
                "halite.returns.stored",
                "Returns, by whether they were stored",
                &["result"],
            ),
            sign_ins: on.count("salt.auth.attempts", "Sign-ins of minions", &["result"]),
            refused: on.count(
                "halite.requests.refused",
                "Requests that were refused, or whose handler failed",
                &["cause"],
            ),
            handled: on.count(
                "salt.master.requests.handled",
                "Requests answered",
                &["cmd"],
            ),
            durations: on.timing(
                "salt.master.requests.duration",
                "Time to answer a request",
                "cmd",
            ),
            fired: on
                .count("salt.events.fired", "Events on the bus", &["tag_prefix"])
                .reserving(&TAG_PREFIXES),
        };
        (meters, on)
    }

    /// A job has left.
    pub(crate) fn published(&self, functions: &[String]) {
        self.published.add(&[function(functions)]);
    }

    /// What became of a return at the place of the jobs.
    pub(crate) fn stored(&self, result: &str) {
        self.stored.add(&[result]);
    }

    /// A minion's result has come.
    pub(crate) fn returned(&self, job: &JobReturn) {
        let success = if job.success { "true" } else { "false" };
        let fun = function(job.fun.names());
        self.completed.add_heard(&[fun, success]);
    }

    /// A sign-in was answered.
    pub(crate) fn signed_in(&self, result: &str) {
        self.sign_ins.add(&[result]);
    }

    /// A request was refused.
    pub(crate) fn refused(&self, cause: Cause) {
        self.refused.add(&[cause.label()]);
    }

    /// A request was answered.
    pub(crate) fn handled(&self, cmd: &str, took: Duration) {
        self.handled.add(&[cmd]);
        self.durations.add(cmd, took);
    }
}

/// A job of several functions counts as one.
fn function(functions: &[String]) -> &str {
    match functions {
        [one] => one,
        _ => "several",
    }
}
