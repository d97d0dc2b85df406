//! The messages of both sides of a join.

use std::fmt;

use halite_proto::Value;

use super::NONCE_BYTES;
use crate::encoding::{DecodeError, Items, expected};
use crate::limits::{ADDRESS_BYTES_MAX, KEY_TEXT_BYTES_MAX};
use crate::peer::PeerId;

/// The version of these messages.
const VERSION: u64 = 1;

/// Longest name of a cluster, in bytes.
const CLUSTER_ID_BYTES_MAX: usize = 255;

/// Longest sealed text, in bytes.
const SEALED_BYTES_MAX: usize = 512 * 1024;

/// Why a member does not take a joiner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does not know the secret.
    WrongSecret,
    /// The member belongs to a cluster of another name.
    OtherCluster,
    /// The member has no secret, so that nobody can join.
    NoSecret,
    /// A member of that name has another key.
    NameTaken,
    /// Too many have failed in the last minute, or the member has not got itself what
    /// it would have to give.
    Busy,
    /// There are as many members as there may be.
    Full,
    /// It speaks another version.
    OtherVersion,
    /// The member could not do what it takes.
    Failed,
}

const REFUSALS: [(u64, Refusal, &str); 8] = [
    (
        1,
        Refusal::WrongSecret,
        "`cluster_secret` differs from the cluster's",
    ),
    (
        2,
        Refusal::OtherCluster,
        "`cluster_id` differs from the cluster's",
    ),
    (
        3,
        Refusal::NoSecret,
        "it has no `cluster_secret`, nobody can join",
    ),
    (
        4,
        Refusal::NameTaken,
        "a member of this name has another key; remove it first",
    ),
    (
        5,
        Refusal::Busy,
        "too many joins have failed in the last minute, or it has not got the cluster's keys \
         itself yet: it is asked again",
    ),
    (6, Refusal::Full, "it has as many members as it can have"),
    (
        7,
        Refusal::OtherVersion,
        "it speaks another version of this handshake",
    ),
    (
        8,
        Refusal::Failed,
        "it could not take a new member, its log says why",
    ),
];

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = REFUSALS.iter().find(|(_, refusal, _)| refusal == self);
        f.write_str(known.map_or("", |(.., why)| why))
    }
}

/// One message of either side.
pub(super) enum Message {
    Hello {
        cluster_id: String,
        joiner: PeerId,
        address: String,
        nonce: Vec<u8>,
    },
    Challenge {
        member: PeerId,
        cluster_key: String,
        nonce: Vec<u8>,
    },
    /// The joiner's proof, sealed to the cluster's key.
    Proof(Vec<u8>),
    Welcome {
        proof: Vec<u8>,
        /// The key of `sealed`, encrypted for the joiner.
        key: Vec<u8>,
        sealed: Vec<u8>,
    },
    Refused(Refusal),
}

impl Message {
    pub(super) fn to_value(&self) -> Value {
        let bytes = |bytes: &Vec<u8>| Value::Bytes(bytes.clone());
        let items = match self {
            Self::Hello {
                cluster_id,
                joiner,
                address,
                nonce,
            } => vec![
                Value::from(0),
                cluster_id.as_str().into(),
                joiner.into(),
                address.as_str().into(),
                bytes(nonce),
            ],
            Self::Challenge {
                member,
                cluster_key,
                nonce,
            } => vec![
                Value::from(1),
                member.into(),
                cluster_key.as_str().into(),
                bytes(nonce),
            ],
            Self::Proof(sealed) => vec![Value::from(2), bytes(sealed)],
            Self::Welcome { proof, key, sealed } => {
                vec![Value::from(3), bytes(proof), bytes(key), bytes(sealed)]
            }
            Self::Refused(refusal) => {
                let known = REFUSALS.iter().find(|(_, other, _)| other == refusal);
                vec![Value::from(4), known.map_or(0, |(code, ..)| *code).into()]
            }
        };
        Value::List([vec![VERSION.into()], items].concat())
    }

    /// Reads a message. One of another version is a refusal of that.
    pub(super) fn from_value(value: Value) -> Result<Self, DecodeError> {
        let mut items = Items::of(value)?;
        if items.number("version")? != VERSION {
            return Ok(Self::Refused(Refusal::OtherVersion));
        }
        Ok(match items.number("kind of message")? {
            0 => Self::Hello {
                cluster_id: items.text("cluster id", CLUSTER_ID_BYTES_MAX)?,
                joiner: items.peer()?,
                address: items.text("address", ADDRESS_BYTES_MAX)?,
                nonce: nonce(&mut items)?,
            },
            1 => Self::Challenge {
                member: items.peer()?,
                cluster_key: items.text("key", KEY_TEXT_BYTES_MAX)?,
                nonce: nonce(&mut items)?,
            },
            2 => Self::Proof(bytes(&mut items)?),
            3 => Self::Welcome {
                proof: bytes(&mut items)?,
                key: bytes(&mut items)?,
                sealed: bytes(&mut items)?,
            },
            4 => {
                let code = items.number("reason")?;
                let known = REFUSALS.iter().find(|(other, ..)| *other == code);
                Self::Refused(
                    known
                        .map(|(_, why, _)| *why)
                        .ok_or_else(|| expected("reason"))?,
                )
            }
            _ => return Err(expected("message of a join")),
        })
    }
}

fn bytes(items: &mut Items) -> Result<Vec<u8>, DecodeError> {
    let value = items.value("bytes")?;
    let bytes = value.as_bytes().ok_or_else(|| expected("bytes"))?;
    match bytes.len() > SEALED_BYTES_MAX {
        true => Err(DecodeError::TooMany {
            what: "bytes",
            max: SEALED_BYTES_MAX,
        }),
        false => Ok(bytes.to_vec()),
    }
}

fn nonce(items: &mut Items) -> Result<Vec<u8>, DecodeError> {
    let nonce = bytes(items)?;
    match nonce.len() == NONCE_BYTES {
        true => Ok(nonce),
        false => Err(expected("nonce")),
    }
}
