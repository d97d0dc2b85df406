//! The source `roots`: the directories of each environment, and finding a file in
//! them.
//!
//! Mirrors `salt/fileserver/roots.py` of 3008.5, without two of its faults: a file
//! found through `?saltenv=` is served whole (in Salt as if it were empty), and
//! `?index=` leads no further than other paths where links are not followed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use halite_crypto::HashType;
use halite_proto::{Map, SaltEnv, Value};

use crate::file::{self, Stat};
use crate::hash::HashCache;
use crate::ignore::Ignore;
use crate::list::Lists;
use crate::list_cache::ListCache;
use crate::requested_path::RequestedPath;
use crate::source::{Content, Found};
use crate::{OptionsError, walk};

/// The name of this source.
pub(crate) const NAME: &str = "roots";

/// The environment whose roots stand for all that have none of their own; its
/// name within a root stands for theirs.
const ANY_ENV: &str = "__env__";

/// What the source `roots` serves, and how.
#[derive(Clone, Debug)]
pub struct RootsOptions {
    /// `file_roots`: environments with their directories, as configured.
    pub file_roots: Vec<(String, Vec<PathBuf>)>,
    /// `hash_type`.
    pub hash_type: HashType,
    /// `fileserver_followsymlinks`: list what links to directories lead to,
    /// and serve files that links lead out of the root to.
    pub follow_symlinks: bool,
    /// `fileserver_ignoresymlinks`: list no links.
    pub ignore_symlinks: bool,
    /// `file_ignore_regex`.
    pub ignore_regex: Vec<String>,
    /// `file_ignore_glob`.
    pub ignore_glob: Vec<String>,
    /// The file that keeps the times of all files, by which an update tells
    /// what has changed; `None` if nobody is to be told.
    pub times_file: Option<PathBuf>,
}

impl Default for RootsOptions {
    fn default() -> Self {
        Self {
            file_roots: Vec::new(),
            hash_type: HashType::Sha256,
            follow_symlinks: true,
            ignore_symlinks: false,
            ignore_regex: Vec::new(),
            ignore_glob: Vec::new(),
            times_file: None,
        }
    }
}

impl RootsOptions {
    /// The options of a minion that serves files to itself.
    ///
    /// # Errors
    /// When `hash_type` is not a hash.
    pub fn from_opts(opts: &Map) -> Result<Self, OptionsError> {
        let is_on = |name: &str, default: bool| opts.get(name).map_or(default, Value::is_true);
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
            times_file: default.times_file,
        })
    }
}

/// A text, or the texts of a list.
pub(crate) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Str(text)) if !text.is_empty() => vec![text.clone()],
        value => value
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

/// The directories of all environments, and what is remembered of them.
#[derive(Debug)]
pub(crate) struct Roots {
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
    /// When a pattern cannot be used. A directory may be missing: it may come.
    pub(crate) fn new(options: RootsOptions) -> Result<Self, OptionsError> {
        Ok(Self {
            ignore: Ignore::new(&options.ignore_regex, &options.ignore_glob)?,
            options,
            hashes: HashCache::default(),
            looking: Mutex::default(),
            lists: ListCache::default(),
        })
    }

    /// The environments.
    pub(crate) fn envs(&self) -> Vec<String> {
        let envs = self.options.file_roots.iter();
        envs.map(|(env, _)| env.clone()).collect()
    }

    /// Looks for a file.
    pub(crate) fn find(&self, wanted: &RequestedPath) -> Option<Found<'_>> {
        let roots = self.roots_of(&wanted.saltenv);
        let Some(index) = wanted.index else {
            let mut roots = roots.iter();
            return roots.find_map(|root| self.find_in(root, &wanted.rel));
        };
        let index = if index < 0 {
            let from_end = usize::try_from(index.unsigned_abs()).ok()?;
            roots.len().checked_sub(from_end)?
        } else {
            usize::try_from(index).ok()?
        };
        self.find_in(roots.get(index)?, &wanted.rel)
    }

    /// The names of what an environment holds.
    pub(crate) fn lists(&self, saltenv: &SaltEnv) -> Arc<Lists> {
        let roots = self.roots_of(saltenv);
        if roots.is_empty() {
            return Arc::default();
        }
        self.lists.get(saltenv, || {
            walk::Walk::new(&self.options, &self.ignore).run(&roots)
        })
    }

    /// The directories of an environment; none if it has no roots.
    fn roots_of(&self, saltenv: &SaltEnv) -> Cow<'_, [PathBuf]> {
        let roots = |name: &str| {
            self.options
                .file_roots
                .iter()
                .find(|(env, _)| env == name)
                .map(|(_, roots)| roots)
        };
        if let Some(roots) = roots(saltenv.as_str()) {
            return Cow::Borrowed(roots);
        }
        // An environment's name is one component, so it leads nowhere else.
        let named = |root: &PathBuf| match root.to_str() {
            Some(text) => PathBuf::from(text.replace(ANY_ENV, saltenv.as_str())),
            None => root.clone(),
        };
        let roots = roots(ANY_ENV).into_iter().flatten();
        Cow::Owned(roots.map(named).collect())
    }

    fn find_in(&self, root: &Path, rel: &str) -> Option<Found<'_>> {
        // `rel` was taken apart by `RequestedPath` and has no way up.
        let path = root.join(rel);
        let metadata = file::look(root, &path, self.options.follow_symlinks).ok()?;
        if self.ignore.hides(&path.to_string_lossy()) {
            return None;
        }
        Some(Found {
            stat: Stat::from(&metadata),
            path,
            rel: rel.to_owned(),
            backend: NAME,
            content: Content::Roots {
                roots: self,
                root: root.to_owned(),
            },
        })
    }
}
