//! What masters answer to sealed requests, where it has a shape.
//!
//! Mirrors sections 6.2, 6.3 and 7 of the protocol. Other answers are values as
//! they are: lists of names, maps, booleans.
//!
//! Invariant: an empty text or an empty map, which is what a handler that failed
//! answers, is never read as a result.

use crate::fields::{Fields, MessageError, Put};
use crate::{Jid, Map, MinionId, Value};

/// A piece of a file: the answer to `_serve_file`, which is read raw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChunk {
    /// The piece; empty at the end of the file.
    pub data: Vec<u8>,
    /// The path within the environment; empty where there is no such file.
    pub dest: String,
    /// The level that the piece is compressed with; a gzip member of its own.
    pub gzip: Option<i64>,
    /// The hash of the file, which no backend of Salt itself sends.
    pub hsum: Option<String>,
}

impl FileChunk {
    /// Reads an answer whose strings, and keys, may all be bytes.
    ///
    /// # Errors
    /// When it is no piece of a file; an empty text is a master that failed.
    pub fn from_value(answer: Value) -> Result<Self, MessageError> {
        let raw = Fields::from_value(CHUNK, answer)?.rest();
        let map = raw.into_iter().map(|(key, value)| match key {
            Value::Bytes(key) => (Value::text_or_bytes(key), value),
            key => (key, value),
        });
        let mut fields = Fields::new(CHUNK, map.collect());
        Ok(Self {
            data: fields.need("data", Fields::bytes)?,
            dest: fields.text("dest")?.unwrap_or_default(),
            gzip: fields.int("gzip")?,
            hsum: fields.text("hsum")?,
        })
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(4);
        map.put_bytes("data", self.data.clone());
        map.put("dest", self.dest.as_str());
        map.put_some("gzip", self.gzip);
        map.put_some("hsum", self.hsum.as_deref());
        map.into()
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        self.data.is_empty() && self.dest.is_empty()
    }
}

/// The answer to `_file_hash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileHash {
    /// The hash.
    Known {
        /// The kind of hash, the master's `hash_type`.
        hash_type: String,
        /// The hash, in hexadecimal digits.
        hsum: String,
    },
    /// There is no such file.
    Missing,
}

impl FileHash {
    /// Reads the answer; an empty text or map is a file that is missing.
    ///
    /// # Errors
    /// When it is neither a hash nor empty.
    pub fn from_value(answer: Value) -> Result<Self, MessageError> {
        if !answer.is_true() {
            return Ok(Self::Missing);
        }
        let mut fields = Fields::from_value(HASH, answer)?;
        Ok(Self::Known {
            hash_type: fields.need("hash_type", Fields::text)?,
            hsum: fields.need("hsum", Fields::text)?,
        })
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Known { hash_type, hsum } => {
                Map::from([("hash_type", hash_type.as_str()), ("hsum", hsum.as_str())]).into()
            }
            Self::Missing => "".into(),
        }
    }
}

/// The answer to `_file_find`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFound {
    /// Where the file is on the master.
    pub path: String,
    /// Its path within the environment.
    pub rel: String,
    /// The backend that has it.
    pub back: Option<String>,
    /// What stat says of it, as Python's tuple.
    pub stat: Option<Vec<Value>>,
}

impl FileFound {
    /// Reads the answer; `None` where there is no such file.
    ///
    /// # Errors
    /// When it is no such answer.
    pub fn from_value(answer: Value) -> Result<Option<Self>, MessageError> {
        if !answer.is_true() {
            return Ok(None);
        }
        let mut fields = Fields::from_value(FOUND, answer)?;
        let found = Self {
            path: fields.need("path", Fields::text)?,
            rel: fields.text("rel")?.unwrap_or_default(),
            stat: fields.list("stat")?,
            back: fields.text("back")?,
        };
        Ok((!found.path.is_empty()).then_some(found))
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(4);
        map.put("path", self.path.as_str());
        map.put("rel", self.rel.as_str());
        map.put_some("stat", self.stat.clone());
        map.put_some("back", self.back.as_deref());
        map.into()
    }

    /// The answer where there is no such file.
    pub fn missing() -> Value {
        Map::from([("path", ""), ("rel", "")]).into()
    }
}

/// The answer to `minion_pub`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPublished {
    /// The job.
    pub jid: Jid,
    /// Who should answer.
    pub minions: Vec<MinionId>,
}

impl PeerPublished {
    /// Reads the answer; `None` where the minion may not publish that.
    ///
    /// # Errors
    /// When it is no such answer.
    pub fn from_value(answer: Value) -> Result<Option<Self>, MessageError> {
        if !answer.is_true() {
            return Ok(None);
        }
        let mut fields = Fields::from_value(PUBLISHED, answer)?;
        let minions = fields.texts("minions")?.unwrap_or_default();
        let minions = minions.into_iter().map(MinionId::parse);
        let minions =
            minions
                .collect::<Result<_, _>>()
                .map_err(|source| MessageError::BadName {
                    message: PUBLISHED,
                    field: "minions",
                    source,
                })?;
        Ok(Some(Self {
            jid: fields.need("jid", Fields::name)?,
            minions,
        }))
    }

    /// The answer as it travels.
    pub fn to_value(&self) -> Value {
        let minions: Vec<Value> = self.minions.iter().map(Value::from).collect();
        Map::from([
            ("jid", Value::from(&self.jid)),
            ("minions", Value::List(minions)),
        ])
        .into()
    }
}

const CHUNK: &str = "the piece of a file";
const HASH: &str = "the file's hash";
const FOUND: &str = "the file that was found";
const PUBLISHED: &str = "the answer to a peer's command";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack::{pack_wire, unpack_raw};

    #[test]
    fn a_piece_is_read_raw() {
        let chunk = FileChunk {
            data: b"text".to_vec(),
            dest: "a/b".to_owned(),
            gzip: Some(5),
            hsum: None,
        };
        let raw = unpack_raw(&pack_wire(&chunk.to_value()).unwrap()).unwrap();
        assert_eq!(FileChunk::from_value(raw), Ok(chunk));
    }

    #[test]
    fn a_failed_handler_is_no_piece() {
        for failed in [Value::from(""), Map::new().into(), Value::Nil] {
            assert!(FileChunk::from_value(failed).is_err());
        }
        let missing = Map::from([("data", ""), ("dest", "")]).into();
        assert!(FileChunk::from_value(missing).unwrap().is_missing());
    }

    #[test]
    fn hashes_and_places_survive() {
        let known = FileHash::Known {
            hash_type: "sha256".to_owned(),
            hsum: "00".to_owned(),
        };
        for hash in [known, FileHash::Missing] {
            assert_eq!(FileHash::from_value(hash.to_value()), Ok(hash));
        }
        assert_eq!(
            FileHash::from_value(Map::new().into()),
            Ok(FileHash::Missing)
        );
        let found = FileFound {
            path: "/srv/salt/a".to_owned(),
            rel: "a".to_owned(),
            back: Some("roots".to_owned()),
            stat: Some(vec![33188.into()]),
        };
        assert_eq!(FileFound::from_value(found.to_value()), Ok(Some(found)));
        assert_eq!(FileFound::from_value(FileFound::missing()), Ok(None));
    }

    #[test]
    fn a_refused_peer_gets_no_job() {
        assert_eq!(PeerPublished::from_value(Map::new().into()), Ok(None));
        let published = PeerPublished {
            jid: Jid::parse("20240229123456789012").unwrap(),
            minions: vec![MinionId::parse("web1").unwrap()],
        };
        assert_eq!(
            PeerPublished::from_value(published.to_value()),
            Ok(Some(published))
        );
    }
}
