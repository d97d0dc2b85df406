//! Which events the subscribing processes of a bus have received, so that one that
//! connects again does not get them twice.
//!
//! Invariant: only processes that are connected, or were within the span, are
//! remembered.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

/// The processes that subscribe.
#[derive(Debug, Default)]
pub(super) struct Processes(HashMap<u32, Connections>);

#[derive(Debug, Default)]
struct Connections {
    open: usize,
    /// When one was opened while another was open.
    together: Option<Instant>,
    /// When the last one was closed.
    closed: Option<Instant>,
}

impl Processes {
    /// A process has connected; until when it has heard everything.
    ///
    /// One with several connections at a time works on several things: what
    /// one of them has heard another may still wait for.
    pub(super) fn opened(&mut self, pid: u32, now: Instant, span: Duration) -> Option<Instant> {
        let is_recent = |moment: Instant| now.saturating_duration_since(moment) < span;
        let is_of_use = |other: &Connections| other.open > 0 || other.closed.is_some_and(is_recent);
        self.0.retain(|_, connections| is_of_use(connections));
        let connections = self.0.entry(pid).or_default();
        if connections.open > 0 {
            connections.together = Some(now);
        }
        connections.open += 1;
        match connections.together {
            Some(together) if is_recent(together) => None,
            _ => connections.closed,
        }
    }

    /// A process has closed a connection.
    pub(super) fn closed(&mut self, pid: u32, now: Instant) {
        if let Some(connections) = self.0.get_mut(&pid) {
            connections.open = connections.open.saturating_sub(1);
            connections.closed = Some(now);
        }
    }
}

/// How long ago a process was started.
pub(super) fn age_of(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    age(&stat, &uptime)
}

/// The age of a process by its `stat` and the machine's `uptime`.
fn age(stat: &str, uptime: &str) -> Option<Duration> {
    /// The kernel counts so to programs, whatever it counts in itself.
    const TICKS_PER_SECOND: f64 = 100.0;
    /// The field after the name, which may hold blanks and brackets.
    const START_AFTER_NAME: usize = 19;
    let (_, fields) = stat.rsplit_once(')')?;
    let start: f64 = fields
        .split_whitespace()
        .nth(START_AFTER_NAME)?
        .parse()
        .ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    // In some containers one is the machine's and the other is not.
    Duration::try_from_secs_f64(uptime - start / TICKS_PER_SECOND).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(5);

    #[test]
    fn who_connects_again_has_heard_until_the_end_of_the_last_time() {
        let mut processes = Processes::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(processes.opened(1, at(0), SPAN), None);
        processes.closed(1, at(1));
        assert_eq!(processes.opened(1, at(2), SPAN), Some(at(1)));
        assert_eq!(processes.opened(2, at(2), SPAN), None, "another one");
        processes.closed(1, at(3));
        assert_eq!(processes.opened(1, at(4), SPAN), Some(at(3)));
    }

    #[test]
    fn connections_of_one_process_do_not_answer_for_each_other() {
        let mut processes = Processes::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        processes.opened(1, at(0), SPAN);
        assert_eq!(processes.opened(1, at(1), SPAN), None);
        processes.closed(1, at(2));
        assert_eq!(processes.opened(1, at(3), SPAN), None);
        processes.closed(1, at(4));
        processes.closed(1, at(7));
        assert_eq!(
            processes.opened(1, at(9), SPAN),
            Some(at(7)),
            "by turns again"
        );
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let mut processes = Processes::default();
        let start = Instant::now();
        for pid in 0..10 {
            processes.opened(pid, start, SPAN);
            processes.closed(pid, start);
        }
        processes.opened(10, start + SPAN, SPAN);
        assert_eq!(processes.0.len(), 1);
        processes.opened(11, start + SPAN * 9, SPAN);
        assert_eq!(processes.0.len(), 2, "who is connected is not");
        processes.closed(12, start);
    }

    #[test]
    fn the_age_of_a_process_is_known() {
        let stat = "7 (a ) b) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 1 0 2550 9 9";
        assert_eq!(
            age(stat, "30.00 55.00\n"),
            Some(Duration::from_millis(4500))
        );
        assert_eq!(age(stat, "20.00 55.00\n"), None);
        assert_eq!(age("", "30.00"), None);
        assert_eq!(age_of(u32::MAX), None);
    }
}
