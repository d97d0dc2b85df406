//! Fetching files from the master (or, with `file_client: local`, from the
//! local roots) into the minion's cache or to a place of choice.
//!
//! The download: ask for the hash, and unless a copy has it already, ask for
//! one piece after the other until an empty one comes (`fileclient.py` of Salt
//! 3008). Invariant: a file appears under its name only when it is complete,
//! and no name from the master leads out of the cache.

mod partial;
mod url;
mod web;

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use halite_crypto::{HashType, Hasher};
use halite_proto::{Map, Value};
use partial::Partial;
use thiserror::Error;
pub use url::SaltUrl;
pub use web::WebFile;

use crate::context::{ContextError, MinionContext};
use crate::limits::{FILE_PIECE_BYTES_MAX, FILE_REPLY_TRIES};

/// Why a file could not be fetched.
#[derive(Debug, Error)]
pub enum FileError {
    /// The address is of no kind that can be fetched.
    #[error("Unsupported path: {0}")]
    Unsupported(String),
    /// No master, or no answer.
    #[error("could not ask for {path}")]
    Ask {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: ContextError,
    },
    /// The master's answer makes no sense.
    #[error("the master sent no piece of {path}: {why}")]
    Reply {
        /// The file.
        path: String,
        /// What is wrong with the answer.
        why: &'static str,
    },
    /// A web server does not give the file.
    #[error("Failed to cache {url}: {why}")]
    Web {
        /// The file.
        url: String,
        /// Why not.
        why: String,
    },
    /// A path that would lead out of its directory.
    #[error("not a path below a file root: {0}")]
    Path(String),
    /// The file could not be written here.
    #[error("could not write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// The file client of one call.
pub struct FileClient<'a> {
    ctx: &'a dyn MinionContext,
}

impl<'a> FileClient<'a> {
    /// A client that asks through `ctx`.
    pub fn new(ctx: &'a dyn MinionContext) -> Self {
        Self { ctx }
    }

    /// The environment that is meant where none is named.
    pub fn default_env(&self) -> String {
        let env = self.ctx.opts().get("saltenv").and_then(Value::as_str);
        env.filter(|env| !env.is_empty())
            .unwrap_or("base")
            .to_owned()
    }

    fn ask(&self, cmd: &str, path: &str, saltenv: &str, more: Map) -> Result<Value, FileError> {
        let mut load = Map::from([("cmd", cmd), ("path", path), ("saltenv", saltenv)]);
        load.extend(more);
        self.ctx.request(load).map_err(|source| FileError::Ask {
            path: path.to_owned(),
            source,
        })
    }

    /// Hash and stat of a file as the master has it; nothing if it has none.
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn hash_and_stat(
        &self,
        path: &str,
        saltenv: &str,
    ) -> Result<Option<(Map, Value)>, FileError> {
        let reply = self.ask("_file_hash_and_stat", path, saltenv, Map::new())?;
        let (hash, stat) = match reply {
            Value::List(mut pair) if pair.len() == 2 => {
                let stat = pair.pop().unwrap_or_default();
                (pair.pop().unwrap_or_default(), stat)
            }
            other => (other, Value::Nil),
        };
        Ok(match hash {
            Value::Map(hash) if !hash.is_empty() => Some((hash, stat)),
            _ => None,
        })
    }

    /// Where a file lies in the cache.
    ///
    /// # Errors
    /// When the path would lead out of it.
    pub fn cache_path(&self, path: &str, saltenv: &str) -> Result<PathBuf, FileError> {
        let path = path.strip_prefix('|').unwrap_or(path);
        below(&self.ctx.cachedir().join("files"), &[saltenv, path])
    }

    /// Has the file in the cache, fetched if it is not the one the master has.
    /// Nothing if there is none.
    ///
    /// # Errors
    /// When the master cannot be asked or the cache not be written.
    pub fn cache(&self, path: &str, saltenv: &str) -> Result<Option<PathBuf>, FileError> {
        let cached = self.cache_path(path, saltenv)?;
        if self.fetch(path, saltenv, &cached, None)? {
            Ok(Some(cached))
        } else {
            Ok(None)
        }
    }

    /// Has the file at `to`; `false` if the master has no such file.
    ///
    /// # Errors
    /// When the master cannot be asked or the file not be written.
    pub fn fetch(
        &self,
        path: &str,
        saltenv: &str,
        to: &Path,
        gzip: Option<i64>,
    ) -> Result<bool, FileError> {
        let Some((hash, stat)) = self.hash_and_stat(path, saltenv)? else {
            return Ok(false);
        };
        let size = size_of(&stat);
        if to.is_file() && has_hash(to, &hash) {
            return Ok(true);
        }
        let wrong = |source| FileError::Write {
            path: to.to_owned(),
            source,
        };
        if let Some(directory) = to.parent().filter(|directory| !directory.is_dir()) {
            private_dirs(directory).map_err(wrong)?;
        }
        let mut partial = Partial::create(to).map_err(wrong)?;
        let mut written = 0_u64;
        loop {
            let piece = self.piece(path, saltenv, written, gzip)?;
            let Piece { data, dest } = piece;
            if data.is_empty() {
                // Nothing at all, not even a name: gone in between.
                if written == 0 && dest.is_empty() {
                    return Ok(false);
                }
                break;
            }
            partial.file.write_all(&data).map_err(wrong)?;
            written += data.len() as u64;
            // Whole already: nobody need say that nothing comes behind it.
            if size == Some(written) && has_hash(partial.path(), &hash) {
                break;
            }
        }
        partial.finish(to).map_err(wrong)?;
        Ok(true)
    }

    fn piece(
        &self,
        path: &str,
        saltenv: &str,
        at: u64,
        gzip: Option<i64>,
    ) -> Result<Piece, FileError> {
        let mut more = Map::from([("loc", at)]);
        if let Some(level) = gzip {
            more.insert("gzip", level);
        }
        let mut why = "";
        for _ in 0..FILE_REPLY_TRIES {
            let reply = self.ask("_serve_file", path, saltenv, more.clone())?;
            match Piece::read(&reply) {
                Ok(piece) => return Ok(piece),
                Err(wrong) => why = wrong,
            }
            tracing::debug!(path, why, "asking for a piece again");
        }
        Err(FileError::Reply {
            path: path.to_owned(),
            why,
        })
    }

    /// A list of names from the master: `_file_list`, `_dir_list`, ...
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn list(&self, cmd: &str, saltenv: &str, prefix: &str) -> Result<Value, FileError> {
        let load = Map::from([("cmd", cmd), ("saltenv", saltenv), ("prefix", prefix)]);
        self.ctx.request(load).map_err(|source| FileError::Ask {
            path: prefix.to_owned(),
            source,
        })
    }

    /// The files of an environment whose paths start with `prefix`.
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn files(&self, saltenv: &str, prefix: &str) -> Result<Vec<String>, FileError> {
        Ok(names(&self.list("_file_list", saltenv, prefix)?))
    }

    /// The empty directories of an environment.
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn empty_dirs(&self, saltenv: &str, prefix: &str) -> Result<Vec<String>, FileError> {
        Ok(names(&self.list(
            "_file_list_emptydirs",
            saltenv,
            prefix,
        )?))
    }
}

fn names(list: &Value) -> Vec<String> {
    let items = list.as_list().unwrap_or_default();
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// One answer to `_serve_file`.
struct Piece {
    data: Vec<u8>,
    dest: String,
}

impl Piece {
    fn read(reply: &Value) -> Result<Self, &'static str> {
        let map = reply.as_map().ok_or("the answer is no map")?;
        let data = map
            .get("data")
            .and_then(Value::as_bytes)
            .ok_or("it holds no data")?;
        let dest = map.get("dest").and_then(Value::as_str).unwrap_or_default();
        let compressed = map.get("gzip").is_some_and(Value::is_true) && !data.is_empty();
        let data = if compressed {
            gunzip(data)?
        } else {
            data.to_vec()
        };
        Ok(Self {
            data,
            dest: dest.to_owned(),
        })
    }
}

fn gunzip(data: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut plain = Vec::new();
    let mut reader = MultiGzDecoder::new(data).take(FILE_PIECE_BYTES_MAX + 1);
    reader
        .read_to_end(&mut plain)
        .map_err(|_| "it is not compressed as it says")?;
    if plain.len() as u64 > FILE_PIECE_BYTES_MAX {
        return Err("it is too large");
    }
    Ok(plain)
}

/// Makes the directories of the cache, which are nobody else's business.
pub(crate) fn private_dirs(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Joins untrusted names to a directory: nothing that leads out of it.
pub(crate) fn below(directory: &Path, parts: &[&str]) -> Result<PathBuf, FileError> {
    let mut path = directory.to_owned();
    for part in parts {
        let good = |component: Component<'_>| matches!(component, Component::Normal(_));
        let part_path = Path::new(part);
        if part.is_empty() || part.contains('\0') || !part_path.components().all(good) {
            return Err(FileError::Path((*part).to_owned()));
        }
        path.push(part_path);
    }
    Ok(path)
}

fn has_hash(path: &Path, hash: &Map) -> bool {
    let text = |key: &str| hash.get(key).and_then(Value::as_str);
    let (Some(name), Some(sum)) = (text("hash_type"), text("hsum")) else {
        return false;
    };
    HashType::parse(name)
        .ok()
        .and_then(|hash_type| hash_of(path, hash_type).ok())
        .is_some_and(|own| own == sum)
}

/// The size in what a master says of a file: the fields of Python's `os.stat`
/// in their order.
fn size_of(stat: &Value) -> Option<u64> {
    const ST_SIZE: usize = 6;
    u64::try_from(stat.as_list()?.get(ST_SIZE)?.as_i64()?).ok()
}

/// The hash of a file, read piece by piece.
pub(crate) fn hash_of(path: &Path, hash_type: HashType) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Hasher::new(hash_type);
    let mut buffer = vec![0; 128 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish_hex()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_cache() {
        let cache = Path::new("/cache");
        assert_eq!(
            below(cache, &["base", "a/b"]).unwrap(),
            Path::new("/cache/base/a/b")
        );
        for evil in [
            "..",
            "../a",
            "a/../../b",
            "/etc/passwd",
            "",
            "a\0",
            "./a/..",
        ] {
            assert!(below(cache, &["base", evil]).is_err(), "{evil:?}");
        }
    }
}
