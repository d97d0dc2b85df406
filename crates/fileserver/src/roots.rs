//! The roots of each environment, and finding a file in them.
//!
//! Mirrors `salt/fileserver/roots.py` of 3008.5, with two faults left out: a
//! file found through `?saltenv=` is served whole (there: as if it were empty),
//! and `?index=` leads no further than other paths where links are not
//! followed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use halite_crypto::HashType;
use halite_proto::{Map, SaltEnv, Value};
use tracing::debug;

use crate::file::{self, Found, Stat};
use crate::hash::HashCache;
use crate::ignore::Ignore;
use crate::limits;
use crate::list::Lists;
use crate::list_cache::ListCache;
use crate::wanted::Wanted;
use crate::{OptionsError, walk};

/// The environment whose roots stand for all that have none of their own; its
/// name within a root stands for theirs.
const ANY_ENV: &str = "__env__";

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct RootsOptions {
    /// `file_roots`: environments with their directories, as configured.
    pub file_roots: Vec<(String, Vec<PathBuf>)>,
    /// `hash_type`.
    pub hash_type: HashType,
    /// `file_buffer_size`, in bytes.
    pub buffer_bytes: usize,
    /// `fileserver_followsymlinks`: list what links to directories lead to,
    /// and serve files that links lead out of the root to.
    pub follow_symlinks: bool,
    /// `fileserver_ignoresymlinks`: list no links.
    pub ignore_symlinks: bool,
    /// `file_ignore_regex`.
    pub ignore_regex: Vec<String>,
    /// `file_ignore_glob`.
    pub ignore_glob: Vec<String>,
}

impl Default for RootsOptions {
    fn default() -> Self {
        Self {
            file_roots: Vec::new(),
            hash_type: HashType::Sha256,
            buffer_bytes: limits::FILE_BUFFER_BYTES,
            follow_symlinks: true,
            ignore_symlinks: false,
            ignore_regex: Vec::new(),
            ignore_glob: Vec::new(),
        }
    }
}

impl RootsOptions {
    /// What the options of a minion say that serves files to itself.
    ///
    /// # Errors
    /// When `hash_type` is none.
    pub fn from_opts(opts: &Map) -> Result<Self, OptionsError> {
        let is_on = |name: &str, default: bool| opts.get(name).map_or(default, Value::is_true);
        let texts = |value: Option<&Value>| match value {
            Some(Value::Str(text)) if !text.is_empty() => vec![text.clone()],
            value => value
                .and_then(Value::as_list)
                .unwrap_or_default()
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        };
        let default = Self::default();
        let hash_type = match opts.get("hash_type").and_then(Value::as_str) {
            None => default.hash_type,
            Some(name) => HashType::parse(name).map_err(|source| OptionsError::HashType {
                name: name.to_owned(),
                source,
            })?,
        };
        let roots = opts.get("file_roots").and_then(Value::as_map);
        let root = |(env, dirs): (&Value, &Value)| {
            let dirs = texts(Some(dirs)).into_iter().map(PathBuf::from).collect();
            Some((env.as_str()?.to_owned(), dirs))
        };
        Ok(Self {
            file_roots: roots.into_iter().flatten().filter_map(root).collect(),
            hash_type,
            follow_symlinks: is_on("fileserver_followsymlinks", default.follow_symlinks),
            ignore_symlinks: is_on("fileserver_ignoresymlinks", default.ignore_symlinks),
            ignore_regex: texts(opts.get("file_ignore_regex")),
            ignore_glob: texts(opts.get("file_ignore_glob")),
            buffer_bytes: default.buffer_bytes,
        })
    }
}

/// The `roots` backend of the file server. May be shared between threads.
#[derive(Debug)]
pub struct Roots {
    pub(crate) options: RootsOptions,
    pub(crate) ignore: Ignore,
    pub(crate) hashes: HashCache,
    /// Held while it is looked which files have changed.
    pub(crate) looking: Mutex<()>,
    lists: ListCache,
}

impl Roots {
    /// Takes the options.
    ///
    /// # Errors
    /// When a pattern is none. Missing directories are no error: they may come.
    pub fn new(options: RootsOptions) -> Result<Self, OptionsError> {
        Ok(Self {
            ignore: Ignore::new(&options.ignore_regex, &options.ignore_glob)?,
            options,
            hashes: HashCache::default(),
            looking: Mutex::default(),
            lists: ListCache::default(),
        })
    }

    /// The environments, sorted.
    pub fn envs(&self) -> Vec<&str> {
        let mut envs: Vec<_> = self
            .options
            .file_roots
            .iter()
            .map(|(env, _)| env.as_str())
            .collect();
        envs.sort_unstable();
        envs
    }

    /// Looks for a file; `path` may have options behind a `?`.
    pub fn find(&self, path: &str, saltenv: &SaltEnv) -> Option<Found> {
        let wanted = Wanted::parse(path, saltenv)?;
        let roots = self.roots_of(&wanted.saltenv);
        let found = match wanted.index {
            None => roots
                .iter()
                .find_map(|root| self.find_in(root, &wanted.rel)),
            Some(index) => {
                let index = if index < 0 {
                    roots
                        .len()
                        .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
                } else {
                    usize::try_from(index).ok()?
                };
                self.find_in(roots.get(index)?, &wanted.rel)
            }
        };
        if found.is_none() {
            debug!(path, saltenv = %wanted.saltenv, "no such file in the roots");
        }
        found
    }

    /// The names of what an environment holds.
    pub fn lists(&self, saltenv: &SaltEnv) -> Arc<Lists> {
        let roots = self.roots_of(saltenv);
        if roots.is_empty() {
            return Arc::default();
        }
        self.lists.get(saltenv, || {
            walk::Walk::new(&self.options, &self.ignore).run(&roots)
        })
    }

    /// The directories of an environment; none if it has no roots.
    pub(crate) fn roots_of(&self, saltenv: &SaltEnv) -> Vec<PathBuf> {
        let roots = |name: &str| {
            self.options
                .file_roots
                .iter()
                .find(|(env, _)| env == name)
                .map(|(_, roots)| roots)
        };
        if let Some(roots) = roots(saltenv.as_str()) {
            return roots.clone();
        }
        // An environment's name is one component, so it leads nowhere else.
        roots(ANY_ENV)
            .into_iter()
            .flatten()
            .map(|root| match root.to_str() {
                Some(text) => PathBuf::from(text.replace(ANY_ENV, saltenv.as_str())),
                None => root.clone(),
            })
            .collect()
    }

    fn find_in(&self, root: &Path, rel: &str) -> Option<Found> {
        // `rel` was taken apart by `Wanted` and has no way up.
        let path = root.join(rel);
        let metadata = file::look(root, &path, self.options.follow_symlinks).ok()?;
        if self.ignore.hides(&path.to_string_lossy()) {
            return None;
        }
        Some(Found {
            stat: Stat::from(&metadata),
            path,
            rel: rel.to_owned(),
            root: root.to_owned(),
        })
    }
}
