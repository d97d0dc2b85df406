//! Requests of minions to a master, sealed with their session key.
//!
//! Described in `docs/protocol.md`, "Sealed requests" and the sections on the
//! single commands.
//!
//! Invariant: the commands are a closed set. A master matches on [`MinionRequest`];
//! nothing is ever dispatched by a name from the network.

mod answers;
mod command;
mod events;
mod files;
mod held;
mod meta;
mod mine;
mod others;
mod peer;
mod replay;
mod return_pieces;
mod syndic;
mod whereabouts;

pub use crate::commits::{COMMITS, COMMITS_MAX, Commits, CommitsOf};
pub use answers::{ChunkBeyond, FileChunk, FileFound, FileHash, PeerPublished, size_in_stat};
pub use command::MinionRequest;
pub use events::{BATCHES_MAX, Batches, EventBody, FiredEvent, MinionEvent};
pub use files::{FileList, FilePath, FileRecv, PushId, ServeBeyond, ServeFile};
pub use held::{HELD_FILES_MAX, HeldFile, HeldFiles};
pub use meta::{RequestMeta, RequestSignature, signed_bytes};
pub use mine::{MineDelete, MineGet, MineStore};
pub use others::{MasterOpts, MasterTops, PillarRequest, RegisterResources, RevokeAuth};
pub use peer::{MinionRunner, PeerPublish, PubRet};
pub use replay::{Replay, Replayed};
pub use return_pieces::{PieceAnswer, ReturnPiece};
pub use syndic::{SyndicJob, SyndicReturn};
pub use whereabouts::Whereabouts;

use thiserror::Error;

use crate::envelope::{EnvelopeError, checked_load};
use crate::fields::MessageError;
use crate::msgpack::{Packing, pack_map};
use crate::{Map, MinionId, PackError, Refusal, Value};

/// An opened request: who sent it, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The fields that every request has.
    pub meta: RequestMeta,
    /// The command.
    pub command: MinionRequest,
    /// Fields that neither has a use for.
    pub extra: Map,
}

/// Why an opened request is not handled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// What was sealed is no load; the sender is told in the clear.
    #[error("the opened request is not a load")]
    Load(#[source] EnvelopeError),
    /// It says that it comes from another minion than the envelope.
    #[error("the load is from {found:?}, its envelope from {expected}")]
    OtherMinion {
        /// The minion whose key opened it.
        expected: MinionId,
        /// The id within.
        found: String,
    },
    /// A field of the command is not what it should be; answered like a
    /// handler that failed.
    #[error("the request cannot be handled")]
    Field(#[from] MessageError),
}

impl RequestError {
    /// What the sender is told in the clear; `None` where the answer is a
    /// sealed empty text.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Load(error) => Some(error.refusal()),
            Self::OtherMinion { .. } => Some(Refusal::BadLoad),
            Self::Field(_) => None,
        }
    }
}

impl Request {
    /// A request with nothing but its command.
    pub fn new(meta: RequestMeta, command: MinionRequest) -> Self {
        Self {
            meta,
            command,
            extra: Map::new(),
        }
    }

    /// Checks what came out of an envelope and takes it apart. `envelope_id` is
    /// the minion whose key opened it.
    ///
    /// # Errors
    /// When it is no load, of another minion, or a field has a wrong type.
    pub fn open(opened: Value, envelope_id: &MinionId) -> Result<Self, RequestError> {
        const SHOWN_ID_CHARS_MAX: usize = 255;
        let load = checked_load(opened).map_err(RequestError::Load)?;
        match load.get("id").and_then(Value::as_str) {
            Some(id) if id == envelope_id.as_str() => Ok(Self::from_map(load)?),
            found => Err(RequestError::OtherMinion {
                expected: envelope_id.clone(),
                found: found
                    .unwrap_or_default()
                    .chars()
                    .take(SHOWN_ID_CHARS_MAX)
                    .collect(),
            }),
        }
    }

    /// Takes a load apart.
    ///
    /// # Errors
    /// When a field is missing, of a wrong type or not a valid name.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let (meta, load) = RequestMeta::split(load)?;
        let (command, extra) = MinionRequest::split(load)?;
        Ok(Self {
            meta,
            command,
            extra,
        })
    }

    /// The load, in Salt's order.
    pub fn to_map(&self) -> Map {
        let mut map = self.command.to_map(&self.meta.id);
        map.extend(self.extra.clone());
        self.meta.append_to(&mut map);
        map
    }

    /// The bytes to seal.
    ///
    /// # Errors
    /// When a value is nested too deeply or holds something too long.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        pack_map(&self.to_map(), Packing::Wire)
    }
}
