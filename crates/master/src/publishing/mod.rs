//! Publishing jobs: a request is judged, the job is stored, announced on the
//! event bus, and sent.
//!
//! Handlers, runners, the reactor and batches all publish through this.
//! Invariant: a job is stored and announced before it leaves.

mod judge;
pub(crate) mod publisher;
pub(crate) mod pushed;
mod send;
pub(crate) mod settings;

use std::sync::Arc;

use halite_proto::Map;

pub(crate) use self::judge::{Judged, Published};
use self::publisher::Publisher;
use self::settings::PublishingSettings;
use crate::access::Access;
use crate::core::turns::Turns;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::PEER_WAITING_PER_MINION_MAX;
use crate::settings::General;
use crate::telemetry::Telemetry;

/// What jobs are published with.
pub(crate) struct Publishing {
    /// The publish port.
    pub(crate) publisher: Publisher,
    /// `minion_publish` that minions wait for.
    pub(crate) peer_turns: Turns,
    settings: PublishingSettings,
    groups: PublishingGroups,
}

/// The parts of the master that publishing uses.
pub(crate) struct PublishingGroups {
    pub(crate) general: Arc<General>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) bus: Arc<Bus>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) access: Arc<Access>,
}

impl Publishing {
    /// Publishes through `publisher`.
    pub(crate) fn new(
        publisher: Publisher,
        settings: PublishingSettings,
        groups: PublishingGroups,
    ) -> Self {
        Self {
            publisher,
            peer_turns: Turns::new(PEER_WAITING_PER_MINION_MAX, usize::MAX),
            settings,
            groups,
        }
    }

    /// What is wrong with the store, for who commands.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.groups.jobs.health.trouble()
    }

    /// Ends what was granted to minions that are not accepted any more: their
    /// sessions are dropped and, unless `rotate_aes_key` is off, nobody without
    /// a new sign-in reads the next publication.
    pub(crate) fn cut_access(&self) {
        self.groups.keys.end_sessions();
        if self.settings.rotate_aes_key {
            self.rotate();
        }
    }

    /// Makes a new key for publications.
    pub(crate) fn rotate(&self) {
        match self.publisher.rotate() {
            Ok(()) => {
                tracing::info!("made a new publish key");
                let data = Map::from([("rotate_aes_key", true)]);
                self.groups.bus.fire("key", data);
                if self.settings.ping_on_rotate {
                    self.ping_all_minions();
                }
            }
            Err(error) => tracing::error!("could not make a new publish key: {}", chain(&error)),
        }
    }
}
