//! Publications on the publish port: sealed with the publish key, numbered, signed.
//!
//! Invariant: the numbers under one key rise in the order in which the publications
//! leave; minions drop all others. The masters of a cluster publish with one key
//! and send no numbers, because Salt's minions would compare the numbers of one
//! master with those of another. There the seal carries a stamp that Salt's minions
//! do not notice, and the stamps of each master rise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use halite_crypto::{Crypticle, KeyError, PrivateKey, Stamp, SymmetricKey, random_bytes};
use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::publisher::PublishedBefore;
use halite_proto::{MinionId, PackError};
use halite_transport::fleet::{Audience, PublishPort};
use thiserror::Error;

use super::settings::PublishingSettings;
use crate::clock::now_micros;

/// The key of publications, with the master's mark on it.
pub(crate) struct PublishKey {
    /// The key, as minions are given it.
    pub(crate) key: SymmetricKey,
    /// Seals publications, and what clients of old versions are answered.
    pub(crate) crypticle: Crypticle,
    /// The master's signature over its hash. It is the same in every sign-in,
    /// so it is made once.
    pub(crate) sig: Vec<u8>,
}

impl PublishKey {
    fn of(key: SymmetricKey, master: &PrivateKey) -> Result<Self, KeyError> {
        Ok(Self {
            crypticle: Crypticle::new(&key),
            sig: master.sign_publish_key(key.expose())?,
            key,
        })
    }
}

/// Why something was not published.
#[derive(Debug, Error)]
pub(crate) enum PublishFailed {
    /// The load cannot be packed.
    #[error("could not pack the publication")]
    Pack(#[from] PackError),
    /// The signature cannot be made.
    #[error("could not sign the publication")]
    Sign(#[from] KeyError),
}

/// The publish port's one writer.
pub(crate) struct Publisher {
    port: PublishPort,
    master: PrivateKey,
    settings: PublishingSettings,
    key: RwLock<Arc<PublishKey>>,
    /// Held while a publication is made and sent, and while the key changes.
    last: Mutex<PublishedBefore>,
}

/// The publication after others, and the stamp of its seal if it is of a cluster.
fn after(last: PublishedBefore) -> (PublishedBefore, Option<Stamp>) {
    match last {
        PublishedBefore::Serial(serial) => (PublishedBefore::Serial(serial + 1), None),
        PublishedBefore::Stamp { sealer, moment } => {
            // The clock may have been set back.
            let moment = now_micros().max(moment + 1);
            let last = PublishedBefore::Stamp { sealer, moment };
            (last, Some(Stamp { sealer, moment }))
        }
    }
}

impl Publisher {
    /// Publishes on `port` with a new publish key, or the one that the masters of a
    /// cluster share.
    ///
    /// # Errors
    /// When the master's key cannot sign.
    pub(crate) fn new(
        port: PublishPort,
        master: PrivateKey,
        settings: PublishingSettings,
        shared: Option<SymmetricKey>,
    ) -> Result<Self, KeyError> {
        let last = match &shared {
            None => PublishedBefore::Serial(0),
            Some(_) => PublishedBefore::Stamp {
                sealer: u32::from_le_bytes(random_bytes()),
                moment: 0,
            },
        };
        let key = shared.unwrap_or_else(SymmetricKey::generate);
        Ok(Self {
            key: RwLock::new(Arc::new(PublishKey::of(key, &master)?)),
            last: Mutex::new(last),
            port,
            master,
            settings,
        })
    }

    /// The key that holds now.
    pub(crate) fn key(&self) -> Arc<PublishKey> {
        Arc::clone(&self.key.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that holds now, and what was published under it: nothing that follows
    /// is taken for it.
    pub(crate) fn key_and_last(&self) -> (Arc<PublishKey>, PublishedBefore) {
        let mut last = self.last();
        if matches!(*last, PublishedBefore::Stamp { .. }) {
            (*last, _) = after(*last);
        }
        (self.key(), *last)
    }

    /// Makes a new publish key: minions that are not accepted any more cannot
    /// read what follows.
    ///
    /// # Errors
    /// When the master's key cannot sign; the old key then stays.
    pub(crate) fn rotate(&self) -> Result<(), KeyError> {
        self.adopt(SymmetricKey::generate())
    }

    /// Publishes with this key from now on.
    ///
    /// # Errors
    /// When the master's key cannot sign; the old key then stays.
    pub(crate) fn adopt(&self, key: SymmetricKey) -> Result<(), KeyError> {
        let mut last = self.last();
        self.renew_key(key, &mut last)
    }

    fn renew_key(&self, key: SymmetricKey, last: &mut PublishedBefore) -> Result<(), KeyError> {
        let key = Arc::new(PublishKey::of(key, &self.master)?);
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
        if let PublishedBefore::Serial(serial) = last {
            *serial = 0;
        }
        Ok(())
    }

    fn last(&self) -> MutexGuard<'_, PublishedBefore> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a load that was resolved to `minions`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn publish(
        &self,
        load: &PublishLoad,
        minions: &[MinionId],
    ) -> Result<(), PublishFailed> {
        let listed;
        let ids: Vec<&str> = match load.tgt_type.as_str() {
            "glob" | "pcre" => minions.iter().map(MinionId::as_str).collect(),
            // The ids as given: one that is not accepted yet costs nothing.
            "list" => {
                listed = halite_target::list::ids(&load.tgt);
                listed.iter().map(AsRef::as_ref).collect()
            }
            _ => return self.send(load, Audience::Everyone),
        };
        self.send(load, Audience::Minions(&ids))
    }

    fn send(&self, load: &PublishLoad, audience: Audience<'_>) -> Result<(), PublishFailed> {
        let mut load = load.to_map();
        let mut last = self.last();
        if *last == PublishedBefore::Serial(u64::MAX) {
            self.renew_key(SymmetricKey::generate(), &mut last)?;
        }
        let (next, stamp) = after(*last);
        if let PublishedBefore::Serial(serial) = next {
            load.insert("serial", serial);
        }
        let packed = pack_map(&load, Packing::Wire)?;
        let crypticle = &self.key().crypticle;
        let sealed = match stamp {
            Some(stamp) => crypticle.seal_stamped(&packed, stamp),
            None => crypticle.seal(&packed, None),
        };
        // A stamp is used once, whatever becomes of what has it.
        *last = next;
        let (sig_algo, sig) = match self.settings.signing {
            Some(algorithm) => (
                Some(algorithm.name().to_owned()),
                Some(self.master.sign(algorithm, &sealed)?),
            ),
            None => (None, None),
        };
        let payload = Publication {
            load: sealed,
            sig_algo,
            sig,
        }
        .encode()?;
        self.port.publish(audience, &payload);
        Ok(())
    }
}
