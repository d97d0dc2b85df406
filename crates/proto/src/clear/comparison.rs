//! The comparison of masters: not a command of Salt's, whose masters answer it with
//! an empty map.
//!
//! The request is signed with the master key that a fleet's masters share; the
//! answer is sealed for holders of that key. Invariant: a caller with another key
//! learns nothing but the fingerprint of this one, which every minion knows.

use crate::fields::{Fields, MessageError, Put};
use crate::{Map, Nonce, Value};

/// The command.
pub const CMD: &str = "halite.compare";

const REQUEST: &str = "the comparison request";
const REPLY: &str = "the comparison reply";

/// A question of another master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonRequest {
    /// To be given back in the sealed answer.
    pub nonce: Nonce,
    /// When it was asked, in seconds since 1970.
    pub ts: i64,
    /// What it is to do instead of telling facts.
    pub promotion: Option<Promotion>,
    /// The signature over [`ComparisonRequest::signed`].
    pub sig: Vec<u8>,
}

/// An environment of files from git is to be held at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// The name or address of the remote; the only one where it is left out.
    pub remote: Option<String>,
    /// The environment.
    pub saltenv: String,
    /// The commit, or `latest`.
    pub commit: String,
    /// Do it; else only look whether it can be done.
    pub sets: bool,
}

impl Promotion {
    fn take(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new("the promotion", map);
        Ok(Self {
            remote: fields.text("remote")?,
            saltenv: fields.need("saltenv", Fields::text)?,
            commit: fields.need("commit", Fields::text)?,
            sets: fields.flag("sets").unwrap_or_default(),
        })
    }

    fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(4);
        map.put_some("remote", self.remote.as_deref());
        map.put("saltenv", self.saltenv.as_str());
        map.put("commit", self.commit.as_str());
        map.put("sets", self.sets);
        map
    }

    /// What is signed: each text with its length in front, so that no two say
    /// the same.
    fn signed(&self) -> String {
        let remote = self.remote.as_deref();
        let texts = [remote.unwrap_or_default(), &self.saltenv, &self.commit];
        let texts = texts
            .map(|text| format!("\n{} {text}", text.len()))
            .concat();
        format!("\npromote {} {}{texts}", self.sets, remote.is_some())
    }
}

impl ComparisonRequest {
    /// What is signed.
    pub fn signed(nonce: &Nonce, ts: i64, promotion: Option<&Promotion>) -> Vec<u8> {
        let promotion = promotion.map(Promotion::signed).unwrap_or_default();
        format!("{CMD}\n{nonce}\n{ts}{promotion}").into_bytes()
    }

    /// Takes the request out of the load of a clear envelope.
    ///
    /// # Errors
    /// When a field is missing or has a wrong type.
    pub fn from_map(load: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(REQUEST, load);
        Ok(Self {
            nonce: fields.need("nonce", Fields::name)?,
            ts: fields.need("ts", Fields::int)?,
            promotion: fields.map("promotion")?.map(Promotion::take).transpose()?,
            sig: fields.need("sig", Fields::bytes)?,
        })
    }

    /// The load of the clear envelope.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(4);
        map.put("cmd", CMD);
        map.put("nonce", &self.nonce);
        map.put("ts", self.ts);
        map.put_some("promotion", self.promotion.as_ref().map(Promotion::to_map));
        map.put_bytes("sig", self.sig.clone());
        map
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonReply {
    /// The fingerprint of this master's public key.
    pub fingerprint: String,
    /// The facts, for who has the same key: a key sealed with it, the facts
    /// sealed with that, and their signature.
    pub sealed: Option<SealedFacts>,
}

/// Facts that only another holder of the master's key can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFacts {
    /// The key of `data`, sealed with the master's public key.
    pub key: Vec<u8>,
    /// The packed facts, sealed.
    pub data: Vec<u8>,
    /// The master's signature over `data`.
    pub sig: Vec<u8>,
}

impl ComparisonReply {
    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let mut map = Map::from([("fingerprint", self.fingerprint.as_str())]);
        if let Some(sealed) = &self.sealed {
            map.put_bytes("key", sealed.key.clone());
            map.put_bytes("data", sealed.data.clone());
            map.put_bytes("sig", sealed.sig.clone());
        }
        map.into()
    }

    /// Reads an answer; `None` from a master that does not know the question.
    ///
    /// # Errors
    /// When a field has a wrong type.
    pub fn from_value(value: Value) -> Result<Option<Self>, MessageError> {
        let Value::Map(map) = value else {
            return Ok(None);
        };
        let mut fields = Fields::new(REPLY, map);
        let Some(fingerprint) = fields.text("fingerprint")? else {
            return Ok(None);
        };
        let key = fields.bytes("key")?;
        let data = fields.bytes("data")?;
        let sig = fields.bytes("sig")?;
        let sealed = match (key, data, sig) {
            (Some(key), Some(data), Some(sig)) => Some(SealedFacts { key, data, sig }),
            _ => None,
        };
        Ok(Some(Self {
            fingerprint,
            sealed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_answer_survive() {
        let promotion = Promotion {
            remote: None,
            saltenv: "base".to_owned(),
            commit: "latest".to_owned(),
            sets: true,
        };
        for promotion in [None, Some(promotion)] {
            let request = ComparisonRequest {
                nonce: Nonce::from_random([7; 16]),
                ts: 1_795_000_000,
                promotion,
                sig: vec![0xff; 256],
            };
            assert_eq!(ComparisonRequest::from_map(request.to_map()), Ok(request));
        }
        for sealed in [
            None,
            Some(SealedFacts {
                key: vec![0xfe; 8],
                data: vec![0xfd; 8],
                sig: vec![0xfc; 8],
            }),
        ] {
            let reply = ComparisonReply {
                fingerprint: "ab:cd".to_owned(),
                sealed,
            };
            assert_eq!(
                ComparisonReply::from_value(reply.to_value()),
                Ok(Some(reply))
            );
        }
        assert_eq!(ComparisonReply::from_value(Map::new().into()), Ok(None));
    }
}
