//! The fields that the channel adds to every sealed request.

use crate::fields::{Fields, MessageError, Put};
use crate::msgpack::{Packing, pack_map};
use crate::{Map, MinionId, Nonce, PackError, Value};

const REQUEST: &str = "the request";

/// Who sends a request, and what ties it to its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMeta {
    /// The minion.
    pub id: MinionId,
    /// Given back in front of the answer; version 1 has none.
    pub nonce: Option<Nonce>,
    /// When it was sent, in seconds since 1970.
    pub ts: Option<i64>,
    /// The minion's proof that it has its private key.
    pub tok: Option<Vec<u8>>,
    /// The minion's signature, where it signs its messages.
    pub sig: Option<RequestSignature>,
}

/// A minion's signature over its request (`minion_sign_messages`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSignature {
    /// The signature.
    pub signature: Vec<u8>,
    /// What was signed, packed again from the load as it was read.
    pub message: Vec<u8>,
}

/// What a minion signs of its request: everything but nonce, token and the
/// signature itself, in the order of the load, with `bin` for bytes.
///
/// # Errors
/// When a value is nested too deeply or holds something too long.
pub fn signed_bytes(load: &Map) -> Result<Vec<u8>, PackError> {
    let mut signed = load.clone();
    for field in ["nonce", "tok", "sig"] {
        signed.remove(field);
    }
    pack_map(&signed, Packing::Modern)
}

impl RequestMeta {
    /// A request of now, not signed.
    pub fn new(id: MinionId, nonce: Nonce, ts: i64, tok: Vec<u8>) -> Self {
        Self {
            id,
            nonce: Some(nonce),
            ts: Some(ts),
            tok: Some(tok),
            sig: None,
        }
    }

    /// Takes these fields out of a load.
    pub(super) fn split(load: Map) -> Result<(Self, Map), MessageError> {
        let signed = match load.get("sig") {
            None | Some(Value::Nil) => None,
            Some(_) => Some(signed_bytes(&load)),
        };
        let mut fields = Fields::new(REQUEST, load);
        let sig = match (signed, fields.bytes("sig")?) {
            (Some(Ok(message)), Some(signature)) => Some(RequestSignature { signature, message }),
            (Some(Err(_)), _) => {
                return Err(fields.bad_value("sig", "is over what cannot be packed"));
            }
            _ => None,
        };
        let meta = Self {
            id: fields.need("id", Fields::name)?,
            nonce: fields.name("nonce")?,
            ts: fields.int("ts")?,
            tok: fields.bytes("tok")?,
            sig,
        };
        Ok((meta, fields.rest()))
    }

    /// Adds these fields as the channel does: `id` keeps its place if the load
    /// has one.
    pub fn append_to(&self, load: &mut Map) {
        load.put_some("nonce", self.nonce.as_ref());
        load.put_some("ts", self.ts);
        load.put_some("tok", self.tok.clone().map(Value::Bytes));
        load.put("id", &self.id);
        if let Some(sig) = &self.sig {
            load.put_bytes("sig", sig.signature.clone());
        }
    }
}
