//! The durations of requests, for `salt/stats/<worker>`.
//!
//! Mirrors the statistics of 3008.5's workers: reported with the first request
//! after each interval, then reset.
//!
//! Invariant: only names from closed sets are kept, so that no peer can make them
//! grow.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use halite_proto::{Map, Value};

/// The worker that all of this master's requests count for.
pub const WORKER: &str = "MWorker-default-0";

/// The commands of an interval.
#[derive(Debug)]
pub struct Stats {
    every: Duration,
    since: Instant,
    commands: BTreeMap<String, Taken>,
}

/// The time spent on a command.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    runs: u32,
    all: Duration,
}

impl Stats {
    /// Statistics that begin now.
    pub fn new(every: Duration, now: Instant) -> Self {
        Self {
            every,
            since: now,
            commands: BTreeMap::new(),
        }
    }

    /// Counts a request that has taken so long; the data of the event, where it
    /// is time for one.
    pub fn record(&mut self, cmd: &str, took: Duration, now: Instant) -> Option<Map> {
        let taken = match self.commands.get_mut(cmd) {
            Some(taken) => taken,
            None => self.commands.entry(cmd.to_owned()).or_default(),
        };
        taken.runs = taken.runs.saturating_add(1);
        taken.all = taken.all.saturating_add(took);
        let time = now.saturating_duration_since(self.since);
        if time < self.every {
            return None;
        }
        self.since = now;
        let commands = std::mem::take(&mut self.commands);
        let stats = commands.into_iter().map(|(cmd, taken)| {
            let mean = taken.all / taken.runs.max(1);
            let of_one = [
                ("mean", Value::from(mean.as_secs_f64())),
                ("runs", i64::from(taken.runs).into()),
            ];
            (cmd, Map::from(of_one))
        });
        Some(Map::from([
            ("time", Value::from(time.as_secs_f64())),
            ("worker", WORKER.into()),
            ("pool", "default".into()),
            ("pool_index", 0.into()),
            ("stats", stats.collect::<Map>().into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_told_once_and_begun_anew() {
        let begun = Instant::now();
        let at = |s: u64| begun + Duration::from_secs(s);
        let took = Duration::from_millis;
        let mut stats = Stats::new(Duration::from_secs(60), begun);
        assert_eq!(stats.record("_return", took(100), at(1)), None);
        assert_eq!(stats.record("_return", took(300), at(59)), None);
        let told = stats.record("publish", took(500), at(61)).unwrap();
        let of = |mean: f64, runs: i64| -> Value {
            Map::from([("mean", Value::from(mean)), ("runs", runs.into())]).into()
        };
        assert_eq!(told.get("time"), Some(&61.0.into()));
        let wanted = Map::from([("_return", of(0.2, 2)), ("publish", of(0.5, 1))]);
        assert_eq!(told.get("stats"), Some(&wanted.into()));
        assert_eq!(stats.record("_auth", took(1), at(62)), None);
        let told = stats.record("_auth", took(3), at(121)).unwrap();
        let wanted = Map::from([("_auth", of(0.002, 2))]);
        assert_eq!(told.get("stats"), Some(&wanted.into()));
    }
}
