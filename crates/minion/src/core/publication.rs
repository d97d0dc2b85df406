//! From a frame that anybody could have sent to a job that may run.
//!
//! A publication comes in as bytes. Only [`Verified`] has the fields that the
//! executor needs, and the only way to one leads through the master's key:
//! the type keeps unverified jobs from ever being run.

use std::collections::VecDeque;

use halite_crypto::{Crypticle, Opened, PublicKey, SerialGate, SigAlgo, Stamp};

use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::publisher::PublishedBefore;
use halite_proto::{MessageError, PublisherId, UnpackError, Value, msgpack};
use thiserror::Error;

use super::origin::{JobKey, JobName, Origin};
use super::sign_in::Credentials;
use crate::limits::{CLUSTER_CLOCKS_APART_MAX, PUBLISH_KEYS_MAX};

/// A publication that the master has made, and that is new.
#[derive(Debug)]
pub struct Verified {
    load: Box<PublishLoad>,
    publisher: Option<PublisherId>,
}

impl Verified {
    /// The job.
    pub fn load(&self) -> &PublishLoad {
        &self.load
    }

    /// The load by itself, for the executor.
    pub fn into_load(self) -> PublishLoad {
        *self.load
    }

    /// What tells this job from others of its id.
    pub fn key(&self) -> JobKey {
        JobKey::new(&self.load, self.publisher)
    }

    /// The job, as one of this master.
    pub fn name(&self, master: &str) -> JobName {
        JobName {
            jid: self.load.jid.clone(),
            origin: Origin::master(master, Some(self.key())),
        }
    }
}

impl Verified {
    /// The jobs in the answer to a replay request. The answer was encrypted with this
    /// minion's session key for its own request, so its jobs are the master's; invalid
    /// ones are left out.
    pub fn replayed(loads: Vec<Value>, publisher: Option<PublisherId>) -> Vec<Self> {
        loads
            .into_iter()
            .filter_map(|load| match load {
                Value::Map(load) => PublishLoad::from_map(load).ok(),
                _ => None,
            })
            .map(|load| Self {
                load: Box::new(load),
                publisher,
            })
            .collect()
    }
}

/// Why a publication is not run.
#[derive(Debug, Error)]
pub enum PublicationError {
    /// The frame is not a publication.
    #[error("not a publication")]
    Frame(#[source] MessageError),
    /// It is not signed, and `sign_pub_messages` demands it.
    #[error("the publication is not signed")]
    Unsigned,
    /// Its signature is not this master's.
    #[error("the publication's signature is not the master's")]
    Signature,
    /// It cannot be decrypted with the publish key: the key was rotated, or the
    /// publication is not from this master.
    #[error("the publication cannot be decrypted with the publish key")]
    NotAuthentic,
    /// Its content cannot be read.
    #[error("the publication's content cannot be read")]
    Content(#[source] UnpackError),
    /// Its content is not a job.
    #[error("the publication is not a job")]
    NotAJob(#[source] MessageError),
    /// It was seen before.
    #[error("the publication repeats an earlier one")]
    Replayed,
}

/// Opens the publications of one master, one after the other.
pub struct Opener {
    publish: Crypticle,
    master: PublicKey,
    signature_required: bool,
    publisher: Option<PublisherId>,
    key_hash: String,
}

/// The publish keys of one master whose numbers are remembered, by their hashes.
///
/// The masters of a cluster publish with one key, each by its own clock: there each
/// of them has a gate, and the key's own is for all of them.
///
/// Invariant: no publication passes twice, nor after a later one of the same master,
/// however often the minion signs in or starts meanwhile.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Gates {
    /// The most recently used at the back.
    of_keys: VecDeque<(String, SerialGate)>,
}

impl Gates {
    /// Closes the gates of a key for what was published before a sign-in. `others`
    /// says whether for what other masters of a cluster have published, too.
    pub fn raise(&mut self, key_hash: &str, before: PublishedBefore, others: bool) {
        match before {
            PublishedBefore::Serial(serial) => self.gate(key_hash).raise(serial),
            PublishedBefore::Stamp { sealer, moment } => {
                self.gate(&of_sealer(key_hash, sealer)).raise(moment);
                if others {
                    // Their clocks may be behind.
                    let apart = u64::try_from(CLUSTER_CLOCKS_APART_MAX.as_micros());
                    let moment = moment.saturating_sub(apart.unwrap_or(u64::MAX));
                    self.gate(key_hash).raise(moment);
                }
            }
        }
    }

    /// Whether a publication may pass; its number is remembered if so. One that has
    /// neither number nor stamp always passes, as with Salt.
    fn admit(&mut self, key_hash: &str, serial: Option<u64>, stamp: Option<Stamp>) -> bool {
        match (serial, stamp) {
            (Some(serial), _) => self.gate(key_hash).admit(Some(serial)),
            (None, Some(Stamp { sealer, moment })) => {
                moment > self.gate(key_hash).last()
                    && self.gate(&of_sealer(key_hash, sealer)).admit(Some(moment))
            }
            (None, None) => true,
        }
    }

    /// The remembered names with their last numbers, for the disk.
    pub fn remembered(&self) -> impl Iterator<Item = (&str, u64)> {
        let gates = self.of_keys.iter();
        gates.map(|(name, gate)| (name.as_str(), gate.last()))
    }

    /// Remembers what was read from the disk.
    pub fn remember(&mut self, name: &str, last: u64) {
        self.gate(name).raise(last);
    }

    fn gate(&mut self, name: &str) -> &mut SerialGate {
        let known = self.of_keys.iter().position(|(known, _)| known == name);
        let gate = known.and_then(|at| self.of_keys.remove(at));
        if self.of_keys.len() >= PUBLISH_KEYS_MAX {
            self.of_keys.pop_front();
        }
        let gate = gate.unwrap_or_else(|| (name.to_owned(), SerialGate::new()));
        &mut self.of_keys.push_back_mut(gate).1
    }
}

/// The name of the gate of one master of a cluster.
fn of_sealer(key_hash: &str, sealer: u32) -> String {
    format!("{key_hash}/{sealer:08x}")
}

impl Opener {
    /// An opener for what a sign-in has handed over.
    pub fn new(credentials: &Credentials, signature_required: bool) -> Self {
        Self {
            publish: credentials.publish.clone(),
            key_hash: credentials.publish_hash.clone(),
            master: credentials.master_key.clone(),
            publisher: PublisherId::of(&credentials.extra),
            signature_required,
        }
    }

    /// Opens one payload from the wire, in the order of `gates`.
    ///
    /// # Errors
    /// When it is not an authentic, new job of this master. A signature that
    /// is there must be right, whether one is required or not.
    pub fn open(&self, payload: &[u8], gates: &mut Gates) -> Result<Verified, PublicationError> {
        let publication = Publication::decode(payload).map_err(PublicationError::Frame)?;
        match &publication.sig {
            Some(sig) => {
                let algorithm = publication
                    .sig_algo
                    .as_deref()
                    .and_then(|name| SigAlgo::parse(name).ok())
                    .ok_or(PublicationError::Signature)?;
                if !self.master.verify(algorithm, &publication.load, sig) {
                    return Err(PublicationError::Signature);
                }
            }
            None if self.signature_required => return Err(PublicationError::Unsigned),
            None => {}
        }
        let packed = match self.publish.open(&publication.load, None) {
            Ok(Opened::Payload(packed)) => packed,
            Ok(Opened::Empty) | Err(_) => return Err(PublicationError::NotAuthentic),
        };
        let value = msgpack::unpack_wire(&packed).map_err(PublicationError::Content)?;
        let Value::Map(map) = value else {
            return Err(PublicationError::NotAuthentic);
        };
        let mut load = PublishLoad::from_map(map).map_err(PublicationError::NotAJob)?;
        // It numbers the publication, and is no part of the job.
        let serial = load.serial.take();
        let stamp = self.publish.stamp(&publication.load);
        if !gates.admit(&self.key_hash, serial, stamp) {
            return Err(PublicationError::Replayed);
        }
        Ok(Verified {
            load: Box::new(load),
            publisher: self.publisher,
        })
    }
}
