//! Fetches files from the master (or, with `file_client: local`, from the local
//! roots) into the minion's cache or to a given place.
//!
//! Invariant: a file appears under its name only when it is complete, and no name
//! from the master leads out of the cache.

mod download;
mod partial;
mod piece;
mod url;
mod web;

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use halite_crypto::{HashType, Hasher};
use halite_proto::{Map, Value, chain};
use thiserror::Error;
pub use url::SaltUrl;
pub use web::{WebFile, redirect_protocols};

use download::Download;

use crate::context::{ContextError, MinionContext};
use crate::error::CallError;
use crate::paths;

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
        why: String,
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

    /// The kind of hash that masters most likely use: `hash_type`.
    fn hash_type(&self) -> String {
        let name = self.ctx.opts().get("hash_type").and_then(Value::as_str);
        name.unwrap_or("sha256").to_owned()
    }

    /// The hash of a file's content, of the kind that masters most likely use.
    pub(crate) fn hash_of_bytes(&self, bytes: &[u8]) -> Option<(String, String)> {
        let name = self.hash_type();
        let hash = halite_crypto::hash_hex(HashType::parse(&name).ok()?, bytes);
        Some((name, hash))
    }

    fn load(&self, cmd: &str, path: &str, saltenv: &str) -> Map {
        Map::from([("cmd", cmd), ("path", path), ("saltenv", saltenv)])
    }

    fn ask(&self, load: Map, path: &str) -> Result<Value, FileError> {
        self.ctx.files().ask(load).map_err(|source| FileError::Ask {
            path: path.to_owned(),
            source,
        })
    }

    fn ask_beyond(&self, load: Map, beyond: Map, path: &str) -> Result<Value, FileError> {
        let answer = self.ctx.files().ask_beyond(load, beyond);
        answer.map_err(|source| FileError::Ask {
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
        let load = self.load("_file_hash_and_stat", path, saltenv);
        Ok(hash_and_stat_of(&self.ask(load, path)?))
    }

    /// Like [`Self::hash_and_stat`], for a file that will be wanted next: a small
    /// one may come along into the cache.
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn hash_and_stat_to_use(
        &self,
        path: &str,
        saltenv: &str,
    ) -> Result<Option<(Map, Value)>, FileError> {
        let Ok(cached) = self.cache_path(path, saltenv) else {
            return self.hash_and_stat(path, saltenv);
        };
        let download = Download {
            client: self,
            path,
            saltenv,
            to: &cached,
            gzip: None,
        };
        download.look()
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
        let download = Download {
            client: self,
            path,
            saltenv,
            to,
            gzip,
        };
        download.run()
    }

    /// A list of names from the master: `_file_list`, `_dir_list`, ...
    ///
    /// # Errors
    /// When the master cannot be asked.
    pub fn list(&self, cmd: &str, saltenv: &str, prefix: &str) -> Result<Value, FileError> {
        let load = Map::from([("cmd", cmd), ("saltenv", saltenv), ("prefix", prefix)]);
        self.ctx.files().ask(load).map_err(|source| FileError::Ask {
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

/// What an answer to `_file_hash_and_stat` says; nothing where there is no such
/// file, or where it is no such answer.
fn hash_and_stat_of(answer: &Value) -> Option<(Map, Value)> {
    let (hash, stat) = match answer {
        Value::List(pair) => match &pair[..] {
            [hash, stat] => (hash, stat.clone()),
            _ => return None,
        },
        other => (other, Value::Nil),
    };
    let hash = hash.as_map().filter(|hash| hash.contains_key("hsum"))?;
    Some((hash.clone(), stat))
}

fn names(list: &Value) -> Vec<String> {
    let items = list.as_list().unwrap_or_default();
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Makes the directories of the cache, which are nobody else's business.
pub fn private_dirs(path: &Path) -> io::Result<()> {
    paths::create_dirs(path, 0o700, |_| Ok(()))
}

/// Joins untrusted names to a directory: nothing that leads out of it.
pub fn below(directory: &Path, parts: &[&str]) -> Result<PathBuf, FileError> {
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

/// The hash of a file, read piece by piece.
pub fn hash_of(path: &Path, hash_type: HashType) -> io::Result<String> {
    let mut file = paths::open_to_read(path)?;
    let mut hasher = Hasher::new(hash_type);
    // Most files are smaller than a buffer that is good for large ones.
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut buffer = vec![0; size.saturating_add(1).min(128 << 10)];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish_hex()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

impl From<FileError> for CallError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Unsupported(_) => {
                Self::exception("salt.exceptions.MinionError", error.to_string())
            }
            error => Self::Command(chain(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cp.hash_file` is called with places of users, too.
    #[test]
    fn a_named_pipe_has_no_hash() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (said, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || said.send(hash_of(&pipe, HashType::Sha256)));
        let hash = heard.recv_timeout(std::time::Duration::from_secs(20));
        assert!(hash.unwrap().is_err());
    }

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
