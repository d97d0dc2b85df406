//! What goes to the minions on the publish port: sealed with the publish key,
//! numbered, signed.
//!
//! Invariant: the numbers under one key rise in the order in which the
//! publications leave; minions drop whatever does not.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use halite_crypto::{Crypticle, HashType, KeyError, PrivateKey, SigAlgo, SymmetricKey, hash_hex};
use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::{Map, MinionId, PackError, Value};
use halite_transport::zeromq::{self, PublishError};
use thiserror::Error;

/// Topic of publications that are not for single minions.
const TOPIC_BROADCAST: &str = "broadcast";
/// Topic that syndics listen to besides.
const TOPIC_SYNDIC: &str = "syndic";

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
    fn generate(master: &PrivateKey) -> Result<Self, KeyError> {
        let key = SymmetricKey::generate();
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
    /// The port is closed.
    #[error("could not send the publication")]
    Send(#[from] PublishError),
}

/// How publications are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublisherSettings {
    /// `sign_pub_messages` and `publish_signing_algorithm`.
    pub(crate) signing: Option<SigAlgo>,
    /// `zmq_filtering`.
    pub(crate) filtering: bool,
    /// `order_masters`.
    pub(crate) syndics: bool,
}

/// The publish port's one writer.
pub(crate) struct Publisher {
    socket: zeromq::Publisher,
    master: PrivateKey,
    settings: PublisherSettings,
    key: RwLock<Arc<PublishKey>>,
    /// The last number under the key. Held while a publication is made and
    /// sent, and while the key changes.
    serial: Mutex<u64>,
}

impl Publisher {
    /// Publishes on `socket` with a new publish key.
    ///
    /// # Errors
    /// When the master's key cannot sign.
    pub(crate) fn new(
        socket: zeromq::Publisher,
        master: PrivateKey,
        settings: PublisherSettings,
    ) -> Result<Self, KeyError> {
        Ok(Self {
            key: RwLock::new(Arc::new(PublishKey::generate(&master)?)),
            serial: Mutex::new(0),
            socket,
            master,
            settings,
        })
    }

    /// The key that holds now.
    pub(crate) fn key(&self) -> Arc<PublishKey> {
        Arc::clone(&self.key.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a new publish key: minions that are not accepted any more cannot
    /// read what follows.
    ///
    /// # Errors
    /// When the master's key cannot sign; the old key then stays.
    pub(crate) fn rotate(&self) -> Result<(), KeyError> {
        let mut serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        self.renew_key(&mut serial)
    }

    fn renew_key(&self, serial: &mut u64) -> Result<(), KeyError> {
        let key = Arc::new(PublishKey::generate(&self.master)?);
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
        *serial = 0;
        Ok(())
    }

    /// Publishes a load that was resolved to `minions`. Blocks while the queue
    /// of the port is full.
    ///
    /// # Errors
    /// When it cannot be made, or the port is closed.
    pub(crate) fn publish(
        &self,
        load: &PublishLoad,
        minions: &[MinionId],
    ) -> Result<(), PublishFailed> {
        let topics = self.topics(&load.tgt, &load.tgt_type, minions);
        let mut map = load.to_map();
        self.send(&mut map, &topics)
    }

    fn send(&self, load: &mut Map, topics: &[String]) -> Result<(), PublishFailed> {
        let mut serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        if *serial == u64::MAX {
            self.renew_key(&mut serial)?;
        }
        load.insert("serial", *serial + 1);
        let packed = pack_map(load, Packing::Wire)?;
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
        *serial += 1;
        for topic in topics {
            let frames = vec![topic.clone().into_bytes(), payload.clone()];
            self.socket.publish(&frames)?;
        }
        if topics.is_empty() {
            self.socket.publish(&[payload])?;
        }
        Ok(())
    }

    /// The topics of a publication; none where minions do not filter.
    fn topics(&self, tgt: &Value, tgt_type: &str, minions: &[MinionId]) -> Vec<String> {
        if !self.settings.filtering {
            return Vec::new();
        }
        let mut topics: Vec<String> = match tgt_type {
            "glob" | "pcre" => minions.iter().map(|id| topic_of(id.as_str())).collect(),
            // The ids as given: one that is not accepted yet costs nothing.
            "list" => halite_target::list::ids(tgt)
                .iter()
                .map(|id| topic_of(id))
                .collect(),
            _ => return vec![TOPIC_BROADCAST.to_owned()],
        };
        if self.settings.syndics {
            topics.push(TOPIC_SYNDIC.to_owned());
        }
        topics
    }
}

/// The topic that a minion with `zmq_filtering` subscribes to.
fn topic_of(id: &str) -> String {
    hash_hex(HashType::Sha1, id.as_bytes())
}
