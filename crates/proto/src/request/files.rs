//! Requests about the master's files, and a file for the master.

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
}

impl FilePath {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            path: fields.need("path", Fields::text)?,
            saltenv: take_saltenv(fields),
        })
    }

    pub(super) fn put(&self, cmd: &'static str, map: &mut Map) {
        map.put("path", self.path.as_str());
        map.put_some("saltenv", self.saltenv.as_ref());
        map.put("cmd", cmd);
    }
}

impl FileList {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            saltenv: take_saltenv(fields),
            prefix: fields.text("prefix")?,
            fsbackend: fields.value("fsbackend"),
        })
    }

    pub(super) fn put(&self, cmd: &'static str, map: &mut Map) {
        map.put_some("saltenv", self.saltenv.as_ref());
        map.put_some("prefix", self.prefix.as_deref());
        map.put_some("fsbackend", self.fsbackend.clone());
        map.put("cmd", cmd);
    }
}

impl ServeFile {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            file: FilePath::take(fields)?,
            loc: fields.need("loc", Fields::uint)?,
            gzip: fields.int("gzip")?,
        })
    }

    pub(super) fn put(&self, map: &mut Map) {
        self.file.put("_serve_file", map);
        map.put_some("gzip", self.gzip);
        map.put("loc", self.loc);
    }
}

impl FileRecv {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            path: fields.need("path", Fields::texts)?,
            size: fields.uint("size")?,
            loc: fields.need("loc", Fields::uint)?,
            data: fields.need("data", Fields::bytes)?,
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
    }
}

fn take_saltenv(fields: &mut Fields) -> Option<SaltEnv> {
    fields.name("saltenv").unwrap_or_default()
}
