//! Counts, measurements and log messages about requests, limited so that no peer can
//! flood the log.

pub(crate) mod meters;
mod stats;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_proto::MinionId;
use halite_proto::shown::quoted;
use halite_transport::fleet::Origin;

use self::meters::Meters;
use self::stats::Stats;
use crate::clock::now_s;
use crate::core::complaints::{Complaints, Telling};
use crate::core::counters::Counters;
use crate::core::gate::Cause;
use crate::limits::SHOWN_CHARS_MAX;

/// Counts, statistics, and the remarks that were logged lately.
#[derive(Default)]
pub(crate) struct Telemetry {
    /// The requests answered and refused.
    pub(crate) counters: Counters,
    /// How long requests take (`master_stats`).
    pub(crate) stats: Stats,
    /// What monitoring reads, if it does.
    pub(crate) meters: Option<Meters>,
    complaints: Mutex<Complaints<Origin>>,
}

impl Telemetry {
    /// Fires statistics in this interval; `None` for none.
    pub(crate) fn new(stats_every: Option<Duration>, meters: Option<Meters>) -> Self {
        Self {
            stats: Stats::new(stats_every, meters.clone()),
            meters,
            ..Self::default()
        }
    }

    /// Whether a remark about a peer is to be logged. Everything that anybody
    /// can cause goes through here or `count_refusal`.
    pub(crate) fn may_log(&self, peer: &str, what: &'static str) -> bool {
        self.may_remark(None, peer, what)
    }

    /// The same for what nobody has proven to have sent: each address has a part
    /// of the lines.
    pub(crate) fn may_log_from(&self, from: Origin, peer: &str, what: &'static str) -> bool {
        self.may_remark(Some(from), peer, what)
    }

    /// Whether a remark about an accepted minion is to be logged: once a minute.
    /// Anybody can send its sign-in again.
    pub(crate) fn may_log_accepted(&self, minion: &str, what: &'static str) -> bool {
        let complaints = self.complaints.lock();
        let mut complaints = complaints.unwrap_or_else(PoisonError::into_inner);
        complaints.remark_accepted(minion, what, now_s())
    }

    fn may_remark(&self, from: Option<Origin>, peer: &str, what: &'static str) -> bool {
        let mut complaints = self
            .complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match complaints.remark(from, peer, what, now_s()) {
            Telling::NotNow => false,
            Telling::Now { suppressed } => {
                if suppressed > 0 {
                    tracing::warn!("left out {suppressed} log messages about peers ({what})");
                }
                true
            }
        }
    }

    /// Counts a request of a local program that proves nothing, and logs it, but
    /// not every one of a flood. Of what it says about itself a little is shown.
    pub(crate) fn count_unproven(&self, cause: Cause, door: &str, user: Option<&str>) {
        let Some(count) = self.refuse(cause) else {
            return;
        };
        let user = user.map(|user| quoted(user, SHOWN_CHARS_MAX));
        let user = user.as_deref().map(tracing::field::display);
        let why = cause.as_str();
        tracing::warn!(user, count, "refused a request ({door}): {why}");
    }

    fn refuse(&self, cause: Cause) -> Option<u64> {
        if let Some(meters) = &self.meters {
            meters.refused(cause);
        }
        self.counters.refuse(cause, now_s())
    }

    /// Counts a refused request and logs it, but not every one of a flood.
    pub(crate) fn count_refusal(&self, cause: Cause, minion: Option<&MinionId>) {
        let Some(count) = self.refuse(cause) else {
            return;
        };
        let minion = minion.map(MinionId::as_str);
        let why = cause.as_str();
        if cause.is_ordinary() {
            tracing::info!(minion, count, "refused a request: {why}");
        } else {
            tracing::warn!(minion, count, "refused a request: {why}");
        }
    }
}
