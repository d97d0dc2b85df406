//! Requests about the master's files, and a file for the master.

use crate::commits::Commits;
use crate::fields::{Fields, MessageError, Put};
use crate::{Map, MinionId, SaltEnv, Value};

/// A file of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath {
    /// The path within the environment; not checked.
    pub path: String,
    /// The environment; `None` where none is named, or nothing that could be
    /// one: there are no files then.
    pub saltenv: Option<SaltEnv>,
    /// The commits that the run began with, which it is to be served from.
    pub commits: Commits,
}

/// The files of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileList {
    /// The environment; `None` where none is named, or nothing that could be
    /// one: there are no files then.
    pub saltenv: Option<SaltEnv>,
    /// Only below this directory.
    pub prefix: Option<String>,
    /// Only of these backends: text or a list.
    pub fsbackend: Option<Value>,
    /// The commits that the run began with, which it is to be served from.
    pub commits: Commits,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeFile {
    /// The file.
    pub file: FilePath,
    /// Where the piece begins, in uncompressed bytes.
    pub loc: u64,
    /// The level to compress it with.
    pub gzip: Option<i64>,
    /// What only a Halite master understands.
    pub beyond: Option<ServeBeyond>,
}

/// What a minion may say besides when it asks for a piece of a file. Only
/// between Halite peers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServeBeyond {
    /// Send nothing if this is the file's hash: its type, and its digits.
    pub unless: Option<(String, String)>,
    /// Tell the file's hash.
    pub hash: bool,
    /// The largest piece that is of use, in bytes.
    pub bytes: Option<u64>,
    /// The answer may be sealed as large ones are between Halite peers.
    pub large: bool,
}

/// A piece of a file that the minion pushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecv {
    /// The parts of the path; not checked.
    pub path: Vec<String>,
    /// The size of the whole file.
    pub size: Option<u64>,
    /// Where the piece belongs; 0 begins the file anew.
    pub loc: u64,
    /// The piece.
    pub data: Vec<u8>,
    /// What it belongs to; Salt's minions do not say.
    pub push: Option<PushId>,
}

/// A file that is pushed once, from its beginning to its end: pieces of
/// different ones do not belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushId {
    /// By chance.
    pub id: String,
    /// How often the file was begun with before, under the same id.
    pub attempt: u64,
}

impl FilePath {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            path: fields.need("path", Fields::text)?,
            saltenv: take_saltenv(fields),
            commits: Commits::take(fields),
        })
    }

    pub(super) fn put(&self, cmd: &'static str, map: &mut Map) {
        map.put("path", self.path.as_str());
        map.put_some("saltenv", self.saltenv.as_ref());
        map.put("cmd", cmd);
        self.commits.put(map);
    }
}

impl FileList {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            saltenv: take_saltenv(fields),
            prefix: fields.text("prefix")?,
            fsbackend: fields.value("fsbackend"),
            commits: Commits::take(fields),
        })
    }

    pub(super) fn put(&self, cmd: &'static str, map: &mut Map) {
        map.put_some("saltenv", self.saltenv.as_ref());
        map.put_some("prefix", self.prefix.as_deref());
        map.put_some("fsbackend", self.fsbackend.clone());
        map.put("cmd", cmd);
        self.commits.put(map);
    }
}

impl ServeFile {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            file: FilePath::take(fields)?,
            loc: fields.need("loc", Fields::uint)?,
            gzip: fields.int("gzip")?,
            beyond: match fields.map(BEYOND)? {
                Some(map) => Some(ServeBeyond::take(map)?),
                None => None,
            },
        })
    }

    pub(super) fn put(&self, map: &mut Map) {
        self.file.put("_serve_file", map);
        map.put_some("gzip", self.gzip);
        map.put("loc", self.loc);
        map.put_some(BEYOND, self.beyond.as_ref().map(ServeBeyond::to_map));
    }

    /// The request as it travels.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(6);
        self.put(&mut map);
        map
    }
}

/// The field of what is beyond Salt's protocol.
pub(super) const BEYOND: &str = "halite";

impl ServeBeyond {
    fn take(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new("the wish for a piece of a file", map);
        let hash_type = fields.text("hash_type")?;
        Ok(Self {
            unless: hash_type.zip(fields.text("hsum")?),
            hash: fields.flag("hash").unwrap_or_default(),
            bytes: fields.uint("bytes")?,
            large: fields.flag("large").unwrap_or_default(),
        })
    }

    fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(5);
        if let Some((hash_type, hsum)) = &self.unless {
            map.put("hash_type", hash_type.as_str());
            map.put("hsum", hsum.as_str());
        }
        map.put_some("hash", self.hash.then_some(true));
        map.put_some("bytes", self.bytes);
        map.put_some("large", self.large.then_some(true));
        map
    }
}

impl FileRecv {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            path: fields.need("path", Fields::texts)?,
            size: fields.uint("size")?,
            loc: fields.need("loc", Fields::uint)?,
            data: fields.need("data", Fields::bytes)?,
            push: match fields.map(BEYOND)? {
                Some(map) => Some(PushId::take(map)?),
                None => None,
            },
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "_file_recv");
        map.put("id", id);
        let path = self.path.iter().map(|part| Value::from(part.as_str()));
        map.put("path", path.collect::<Vec<_>>());
        map.put_some("size", self.size);
        map.put("loc", self.loc);
        map.put_bytes("data", self.data.clone());
        map.put_some(BEYOND, self.push.as_ref().map(PushId::to_map));
    }
}

impl PushId {
    fn take(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new("the name of a push", map);
        Ok(Self {
            id: fields.need("push", Fields::text)?,
            attempt: fields.uint("attempt")?.unwrap_or_default(),
        })
    }

    fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(2);
        map.put("push", self.id.as_str());
        map.put("attempt", self.attempt);
        map
    }

    /// Says in a request with a piece what the piece belongs to.
    pub fn put(&self, request: &mut Map) {
        request.put(BEYOND, self.to_map());
    }
}

fn take_saltenv(fields: &mut Fields) -> Option<SaltEnv> {
    fields.name("saltenv").unwrap_or_default()
}
