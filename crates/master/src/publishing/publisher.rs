//! What goes to the minions on the publish port: sealed with the publish key,
//! numbered, signed.
//!
//! Invariant: the numbers under one key rise in the order in which the
//! publications leave; minions drop whatever does not.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use halite_crypto::{Crypticle, KeyError, PrivateKey, SymmetricKey};
use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::{MinionId, PackError};
use halite_transport::fleet::{Audience, PublishPort};
use thiserror::Error;

use super::settings::PublishingSettings;

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
    /// Publications have numbers. Those of a cluster have none: they reach a
    /// minion by several masters.
    is_numbered: bool,
    key: RwLock<Arc<PublishKey>>,
    /// The last number under the key. Held while a publication is made and
    /// sent, and while the key changes.
    serial: Mutex<u64>,
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
        let is_numbered = shared.is_none();
        let key = shared.unwrap_or_else(SymmetricKey::generate);
        Ok(Self {
            key: RwLock::new(Arc::new(PublishKey::of(key, &master)?)),
            is_numbered,
            serial: Mutex::new(0),
            port,
            master,
            settings,
        })
    }

    /// The key that holds now.
    pub(crate) fn key(&self) -> Arc<PublishKey> {
        Arc::clone(&self.key.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that holds now, and the number of the last publication under it, if
    /// they have any.
    pub(crate) fn key_and_serial(&self) -> (Arc<PublishKey>, Option<u64>) {
        let serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        (self.key(), self.is_numbered.then_some(*serial))
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
        let mut serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew_key(key, &mut serial)
    }

    fn renew_key(&self, key: SymmetricKey, serial: &mut u64) -> Result<(), KeyError> {
        let key = Arc::new(PublishKey::of(key, &self.master)?);
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
        *serial = 0;
        Ok(())
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
        let mut serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        if *serial == u64::MAX {
            self.renew_key(SymmetricKey::generate(), &mut serial)?;
        }
        if self.is_numbered {
            load.insert("serial", *serial + 1);
        }
        let packed = pack_map(&load, Packing::Wire)?;
        let sealed = self.key().crypticle.seal(&packed, None);
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
        *serial += u64::from(self.is_numbered);
        self.port.publish(audience, &payload);
        Ok(())
    }
}
