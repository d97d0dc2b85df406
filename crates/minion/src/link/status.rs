//! The status of each link, for `salt-minion status`: its phase, since when, the
//! last error and the next try.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use tokio::sync::watch;

use crate::core::link::Phase;

/// The state of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Its phase.
    pub phase: Phase,
    /// Since when.
    pub since: SystemTime,
    /// The address its master's name led to last.
    pub address: Option<IpAddr>,
    /// When it tries again, if it waits for that.
    pub next_try: Option<SystemTime>,
    /// What went wrong last, and when.
    pub last_error: Option<(SystemTime, String)>,
}

/// Reports the state of one link; held by its task.
pub(crate) struct Reporter {
    phase: watch::Sender<Phase>,
    status: Arc<Mutex<LinkStatus>>,
}

/// Receives the reports of one link.
#[derive(Clone)]
pub struct Reports {
    /// Its phase, to wait for.
    pub phase: watch::Receiver<Phase>,
    status: Arc<Mutex<LinkStatus>>,
}

/// The two ends of what a link that has not started tells.
pub(crate) fn reports() -> (Reporter, Reports) {
    let (sender, phase) = watch::channel(Phase::Idle);
    let status = Arc::new(Mutex::new(LinkStatus {
        phase: Phase::Idle,
        since: SystemTime::now(),
        address: None,
        next_try: None,
        last_error: None,
    }));
    let reports = Reports {
        phase,
        status: Arc::clone(&status),
    };
    let phase = sender;
    (Reporter { phase, status }, reports)
}

impl Reporter {
    /// The link is in this phase now, and wakes by itself at `timer`.
    pub(crate) fn is_at(&self, phase: Phase, timer: Option<Instant>) {
        self.change(|status| {
            if status.phase != phase {
                status.phase = phase;
                status.since = SystemTime::now();
                status.next_try = match phase {
                    Phase::Paused => timer.map(in_system_time),
                    _ => None,
                };
            }
        });
        self.phase
            .send_if_modified(|known| std::mem::replace(known, phase) != phase);
    }

    /// The master's name led to this address.
    pub(crate) fn resolved(&self, address: IpAddr) {
        self.change(|status| status.address = Some(address));
    }

    /// Something went wrong.
    pub(crate) fn failed(&self, why: &str) {
        self.change(|status| status.last_error = Some((SystemTime::now(), why.to_owned())));
    }

    fn change(&self, change: impl FnOnce(&mut LinkStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Reports {
    /// The present state of the link.
    pub fn status(&self) -> LinkStatus {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.clone()
    }
}

fn in_system_time(timer: Instant) -> SystemTime {
    SystemTime::now() + timer.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_status_says_since_when_why_and_until_when() {
        let (reporter, reports) = reports();
        reporter.is_at(Phase::SigningIn, None);
        let since = reports.status().since;
        reporter.is_at(Phase::SigningIn, None);
        assert_eq!(reports.status().since, since, "nothing has changed");
        reporter.failed("no answer");
        reporter.is_at(Phase::Paused, Some(Instant::now() + Duration::from_secs(9)));
        let status = reports.status();
        assert_eq!(status.phase, *reports.phase.borrow());
        assert_eq!(status.last_error.unwrap().1, "no answer");
        assert!(status.next_try.unwrap() > status.since);
        reporter.is_at(Phase::Ready, None);
        assert_eq!(reports.status().next_try, None);
    }
}
