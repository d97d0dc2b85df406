//! The private reply that carries a minion's pillar.
//!
//! Described in `docs/protocol.md`, "Pillar". Three layers: [`PillarReply`] travels,
//! its `pillar` opens to a [`SignedPillar`], whose signed bytes are a
//! [`PillarData`].
//!
//! Invariant: the signature is checked over bytes as they arrived, so each
//! layer keeps the next one packed.

use crate::fields::{Fields, MessageError, Put, unreadable};
use crate::msgpack::{Packing, Reading, pack_map, unpack};
use crate::{Map, Nonce, PackError, Refusal, Value};

const REPLY: &str = "the pillar reply";
const SIGNED: &str = "the sealed pillar";
const DATA: &str = "the signed pillar";

/// The outer layer: a key for the minion, and what is sealed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PillarReply {
    /// A fresh key under the minion's key.
    pub key: Vec<u8>,
    /// A [`SignedPillar`] sealed with that key.
    pub pillar: Vec<u8>,
}

impl PillarReply {
    /// The reply as it travels.
    pub fn to_value(&self) -> Value {
        Map::from([
            ("key", Value::Bytes(self.key.clone())),
            ("pillar", Value::Bytes(self.pillar.clone())),
        ])
        .into()
    }

    /// The packed reply.
    ///
    /// # Errors
    /// When a part is longer than the format can hold.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        crate::msgpack::pack_wire(&self.to_value())
    }
}

/// Everything that may answer a `_pillar` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PillarAnswer {
    /// The pillar.
    Private(PillarReply),
    /// The master says what is wrong, in the clear.
    Error(String),
    /// A sealed answer: what a master that does not know the minion's key sends
    /// (3008), or one that speaks the old protocol.
    Sealed(Vec<u8>),
    /// The request was not handled.
    Refused(Refusal),
}

impl PillarAnswer {
    /// Reads the answer to a `_pillar` request.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let value = unpack(packed, Reading::Wire).map_err(|source| unreadable(REPLY, source))?;
        Self::from_value(value)
    }

    /// The answer that an unpacked value is.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_value(value: Value) -> Result<Self, MessageError> {
        if let Some(refusal) = Refusal::from_value(&value) {
            return Ok(Self::Refused(refusal));
        }
        match value {
            Value::Bytes(bytes) => Ok(Self::Sealed(bytes)),
            Value::Str(text) => Ok(Self::Sealed(text.into_bytes())),
            other => {
                let mut fields = Fields::from_value(REPLY, other)?;
                if let Some(error) = fields.text("error")? {
                    return Ok(Self::Error(error));
                }
                Ok(Self::Private(PillarReply {
                    key: fields.need("key", Fields::bytes)?,
                    pillar: fields.need("pillar", Fields::bytes)?,
                }))
            }
        }
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Private(reply) => reply.to_value(),
            Self::Error(error) => Map::from([("error", error.as_str())]).into(),
            Self::Sealed(bytes) => Value::Bytes(bytes.clone()),
            Self::Refused(refusal) => refusal.to_value(),
        }
    }
}

/// The middle layer: packed data and the master's signature over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPillar {
    /// A packed [`PillarData`].
    pub data: Vec<u8>,
    /// The signature over `data`.
    pub sig: Vec<u8>,
}

impl SignedPillar {
    /// Reads the opened layer.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let mut fields = open(SIGNED, packed)?;
        Ok(Self {
            data: fields.need("data", Fields::bytes)?,
            sig: fields.need("sig", Fields::bytes)?,
        })
    }

    /// The bytes to seal.
    ///
    /// # Errors
    /// When a part is longer than the format can hold.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        let mut map = Map::with_capacity(2);
        map.put_bytes("data", self.data.clone());
        map.put_bytes("sig", self.sig.clone());
        pack_map(&map, Packing::Wire)
    }
}

/// The inner layer: the pillar, bound to the key and the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PillarData {
    /// The same bytes as [`PillarReply::key`].
    pub key: Vec<u8>,
    /// The pillar.
    pub pillar: Map,
    /// The request's nonce.
    pub nonce: Nonce,
}

impl PillarData {
    /// Reads the signed layer.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(packed: &[u8]) -> Result<Self, MessageError> {
        let mut fields = open(DATA, packed)?;
        Ok(Self {
            key: fields.need("key", Fields::bytes)?,
            pillar: fields.need("pillar", Fields::map)?,
            nonce: fields.need("nonce", Fields::name)?,
        })
    }

    /// The bytes to sign.
    ///
    /// # Errors
    /// When the pillar cannot be packed.
    pub fn encode(&self) -> Result<Vec<u8>, PackError> {
        let mut map = Map::with_capacity(3);
        map.put_bytes("key", self.key.clone());
        map.put("pillar", self.pillar.clone());
        map.put("nonce", &self.nonce);
        pack_map(&map, Packing::Wire)
    }
}

fn open(message: &'static str, packed: &[u8]) -> Result<Fields, MessageError> {
    let value = unpack(packed, Reading::Wire).map_err(|source| unreadable(message, source))?;
    Fields::from_value(message, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layers_survive() {
        let data = PillarData {
            key: vec![0xfe; 256],
            pillar: [("role", "web")].into(),
            nonce: Nonce::from_random([1; 16]),
        };
        let signed = SignedPillar {
            data: data.encode().unwrap(),
            sig: vec![0xfd; 256],
        };
        let reply = PillarReply {
            key: data.key.clone(),
            pillar: signed.encode().unwrap(),
        };
        let Ok(PillarAnswer::Private(got)) = PillarAnswer::decode(&reply.encode().unwrap()) else {
            panic!("not a pillar");
        };
        let signed = SignedPillar::decode(&got.pillar).unwrap();
        assert_eq!(PillarData::decode(&signed.data), Ok(data));
    }

    #[test]
    fn errors_and_refusals_are_told_apart() {
        let answers = [
            PillarAnswer::Error("AES key not found".to_owned()),
            PillarAnswer::Sealed(vec![0xff; 48]),
            PillarAnswer::Refused(Refusal::BadLoad),
        ];
        for answer in answers {
            assert_eq!(PillarAnswer::from_value(answer.to_value()), Ok(answer));
        }
    }
}
