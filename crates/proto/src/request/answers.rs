//! The answers of masters to sealed requests, where they have a fixed shape.
//!
//! Described in `docs/protocol.md`, "Files" and "Minion events, mine, peers". Other
//! answers are plain values: lists of names, maps, booleans.
//!
//! Invariant: an empty text or an empty map, which is the answer of a failed
//! handler, is never read as a result.

use super::files::BEYOND;
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
    /// What only a Halite master says, to a minion that has asked for it.
    pub beyond: Option<ChunkBeyond>,
}

/// What a Halite master says of the file besides a piece of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChunkBeyond {
    /// The content of which the piece is a part: two pieces with the same text
    /// are of the same content.
    pub version: String,
    /// What stat says of the file, as Python's tuple.
    pub stat: Vec<Value>,
    /// The file's hash, where it was asked for: its type, and its digits.
    pub hash: Option<(String, String)>,
    /// The minion has the file already: there is no piece.
    pub same: bool,
}

impl ChunkBeyond {
    /// The file's size.
    pub fn size(&self) -> Option<u64> {
        size_in_stat(&self.stat)
    }

    fn take(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(CHUNK, map);
        let hash_type = fields.text("hash_type")?;
        Ok(Self {
            version: fields.need("version", Fields::text)?,
            stat: fields.list("stat")?.unwrap_or_default(),
            hash: hash_type.zip(fields.text("hsum")?),
            same: fields.flag("same").unwrap_or_default(),
        })
    }

    fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(5);
        map.put("version", self.version.as_str());
        map.put("stat", self.stat.clone());
        if let Some((hash_type, hsum)) = &self.hash {
            map.put("hash_type", hash_type.as_str());
            map.put("hsum", hsum.as_str());
        }
        map.put_some("same", self.same.then_some(true));
        map
    }
}

/// The size in what a master says of a file: the fields of Python's `os.stat`
/// in their order.
pub fn size_in_stat(stat: &[Value]) -> Option<u64> {
    const ST_SIZE: usize = 6;
    u64::try_from(stat.get(ST_SIZE)?.as_i64()?).ok()
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
            beyond: match fields.map(BEYOND)? {
                Some(map) => Some(ChunkBeyond::take(map)?),
                None => None,
            },
        })
    }

    /// The answer as it travels.
    pub fn into_value(self) -> Value {
        let mut map = Map::with_capacity(5);
        map.put_bytes("data", self.data);
        map.put("dest", self.dest);
        map.put_some("gzip", self.gzip);
        map.put_some("hsum", self.hsum);
        map.put_some(BEYOND, self.beyond.map(|beyond| beyond.to_map()));
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
    use crate::msgpack::{pack_wire, unpack_raw, unpack_wire};

    #[test]
    fn a_piece_is_read_raw() {
        let chunk = FileChunk {
            data: b"text".to_vec(),
            dest: "a/b".to_owned(),
            gzip: Some(5),
            hsum: None,
            beyond: None,
        };
        let raw = unpack_raw(&pack_wire(&chunk.clone().into_value()).unwrap()).unwrap();
        assert_eq!(FileChunk::from_value(raw), Ok(chunk));
    }

    #[test]
    fn what_a_halite_master_says_besides_survives() {
        let stat: Vec<Value> = (0..10).map(Value::from).collect();
        let chunk = FileChunk {
            data: vec![0xfe; 3],
            dest: "a".to_owned(),
            beyond: Some(ChunkBeyond {
                version: "1-2".to_owned(),
                stat,
                hash: Some(("sha256".to_owned(), "00".to_owned())),
                same: true,
            }),
            ..FileChunk::default()
        };
        assert_eq!(chunk.beyond.as_ref().and_then(ChunkBeyond::size), Some(6));
        let read = unpack_wire(&pack_wire(&chunk.clone().into_value()).unwrap()).unwrap();
        assert_eq!(FileChunk::from_value(read), Ok(chunk));
        let nameless = Map::from([("data", Value::from("x")), (BEYOND, Map::new().into())]);
        assert!(FileChunk::from_value(nameless.into()).is_err());
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
