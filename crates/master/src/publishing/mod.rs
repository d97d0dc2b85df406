//! Publishing jobs: a request is checked, and the job is stored, announced on the
//! event bus, and sent.
//!
//! Handlers, runners, the reactor and batches all publish through this. Invariant:
//! a job is stored and announced before it leaves.

mod judge;
pub(crate) mod publisher;
pub(crate) mod pushed;
mod send;
pub(crate) mod settings;

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use halite_crypto::SymmetricKey;
use halite_proto::Map;

pub(crate) use self::judge::{Judged, Published};
use self::publisher::Publisher;
use self::settings::PublishingSettings;
use crate::access::Access;
use crate::cluster::Cluster;
use crate::cluster::message::Message;
use crate::core::turns::Turns;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::fleet::Fleet;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::limits::{PEER_WAITING_PER_MINION_MAX, PUBLISH_KEY_TOLD_MAX};
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
    /// Set once where the masters of a cluster share no files.
    agreed: OnceLock<Weak<dyn AgreedKey>>,
}

/// Where the masters of a cluster that share no files agree on the publish key.
pub(crate) trait AgreedKey: Send + Sync {
    /// Makes another key that of the cluster, and tells the other masters.
    fn rotate(&self) -> SymmetricKey;
}

/// The parts of the master that publishing uses.
#[derive(Clone)]
pub(crate) struct PublishingGroups {
    pub(crate) cluster: Option<Arc<Cluster>>,
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
            agreed: OnceLock::new(),
        }
    }

    /// From now on the publish key is the one that the masters agree on there.
    pub(crate) fn agree_by(&self, agreed: Weak<dyn AgreedKey>) {
        // There is one such place in a master.
        let _ = self.agreed.set(agreed);
    }

    /// What is wrong with the store, for the user who publishes.
    pub(crate) fn trouble(&self) -> Option<String> {
        let jobs = &self.groups.jobs;
        jobs.health.trouble(jobs.unkept_returns().0)
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

    /// Makes a new key in place of one that the masters of a cluster have had for
    /// `publish_session`, if that is this master's to do.
    pub(crate) fn rotate_if_old(&self) {
        let Some(cluster) = &self.groups.cluster else {
            return;
        };
        let age_max = Duration::from_secs(cluster.settings.session_s);
        let age = cluster.dir.publish_key_age();
        let is_old = !age_max.is_zero() && age.is_some_and(|age| age > age_max);
        if is_old && cluster.leads() {
            self.rotate();
        }
    }

    /// Makes a new key for publications.
    pub(crate) fn rotate(&self) {
        match self.renew_key() {
            Ok(()) => {
                tracing::info!("made a new publish key");
                let data = Map::from([("rotate_aes_key", true)]);
                self.groups.bus.fire("key", data);
                if self.settings.ping_on_rotate {
                    self.ping_all_minions();
                }
            }
            Err(error) => tracing::error!("could not make a new publish key: {}", chain(&*error)),
        }
    }

    /// The peers of a cluster have a new key before it is used.
    fn renew_key(&self) -> Result<(), Box<dyn std::error::Error>> {
        let Some(cluster) = &self.groups.cluster else {
            return Ok(self.publisher.rotate()?);
        };
        let key = match self.agreed.get().and_then(Weak::upgrade) {
            Some(agreed) => agreed.rotate(),
            None => {
                let key = SymmetricKey::generate();
                cluster.dir.put_publish_key(&key)?;
                key
            }
        };
        if let Some(number) = cluster.tell(&Message::PublishKey) {
            cluster.wait_for(number, PUBLISH_KEY_TOLD_MAX);
        }
        Ok(self.publisher.adopt(key)?)
    }

    /// Uses the key that another master of the cluster has put into the shared file, if
    /// there is one.
    pub(crate) fn reload_key(&self) {
        let Some(cluster) = &self.groups.cluster else {
            return;
        };
        // If the directory cannot be read, the watch of the keys logs it.
        if self.agreed.get().is_some() || cluster.dir.check_readable().is_err() {
            return;
        }
        match cluster.dir.read_publish_key() {
            Ok(key) if key.is_same(&self.publisher.key().key) => {}
            Ok(key) => self.adopt(key),
            Err(error) => tracing::error!("could not read the publish key: {}", chain(&error)),
        }
    }

    /// Publishes with the key that another master of the cluster has made.
    pub(crate) fn adopt(&self, key: SymmetricKey) {
        match self.publisher.adopt(key) {
            Ok(()) => tracing::info!("took the new publish key of the cluster"),
            Err(error) => tracing::error!("could not use a new publish key: {}", chain(&error)),
        }
    }
}
