//! What exists once per master while the minion runs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use halite_proto::{Map, MasterUri};
use tokio::sync::watch;
use tracing::warn;

use crate::core::link::Phase;
use crate::link::channel::Channel;
use crate::link::signs::Signs;
use crate::link::status::Reports;

/// One master, as the rest of the minion sees it.
pub struct Master {
    /// Its entry in the `master:` list.
    pub name: String,
    /// Its host alone, as the grain `master` names it.
    pub host: String,
    /// The way to ask it.
    pub channel: Channel,
    /// The state of its link.
    pub phase: watch::Receiver<Phase>,
    /// The same with everything else that is known of it.
    pub reports: Reports,
    /// The addresses of other machines with this minion's id and key, as the master
    /// reports them.
    pub(crate) others: Mutex<Vec<String>>,
    /// Which of this minion's signs of life it has answered.
    pub(crate) signs: Arc<Signs>,
    /// The pillar it compiled for this minion; none before the first.
    pub pillar: watch::Sender<Option<Arc<Map>>>,
    /// The grains as it sees them, made once for all who ask.
    pub(crate) grains: Mutex<Option<MadeGrains>>,
    /// The options as its jobs see them, made when the first one asks.
    pub(crate) opts: OnceLock<Map>,
    /// Where it is asked.
    pub(crate) uri: MasterUri,
}

/// Grains that were made of others.
pub(crate) struct MadeGrains {
    pub(super) of: Arc<Map>,
    pub(super) made: Arc<Map>,
}

impl Master {
    /// Whether its link is ready.
    pub fn is_ready(&self) -> bool {
        *self.phase.borrow() == Phase::Ready
    }

    /// The addresses of others with this minion's id and key, as this master reports
    /// them.
    pub(crate) fn others(&self) -> Vec<String> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.clone()
    }

    /// This master hears others with this minion's id and key from there.
    pub(crate) fn hear_of_others(&self, heard: Vec<String>) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if others.is_empty() && !heard.is_empty() {
            warn!(
                master = self.name,
                "another machine uses the id and key of this minion (from {}): each runs every \
                 job; give each machine its own id and key",
                heard.join(", ")
            );
        }
        *others = heard;
    }
}
