//! The file server: sources of files, asked in the order of `fileserver_backend`.
//!
//! Invariant: if several sources have a file, the first one answers for it, whether
//! it is found, hashed or read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use halite_git::Repository;
use halite_proto::request::Commits;
use halite_proto::{Map, SaltEnv};
use tracing::debug;

use crate::merged::MergedLists;
use crate::requested_path::RequestedPath;
use crate::roots::Roots;
use crate::source::{Found, Source};
use crate::wish::UpdateWish;
use crate::{
    Backends, Changes, FileHash, GitfsOptions, Lists, MinionFsOptions, OptionsError, ReadError,
    RootsOptions, UpdateError, gitfs, limits, roots,
};

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct FileServerOptions {
    /// `fileserver_backend`: the names of the sources, in their order.
    pub backends: Vec<String>,
    /// `file_buffer_size`: the bytes of a piece of a file.
    pub buffer_bytes: usize,
    /// What the source `roots` serves.
    pub roots: RootsOptions,
    /// What the source `gitfs` serves.
    pub gitfs: GitfsOptions,
    /// What the source `minionfs` serves.
    pub minionfs: MinionFsOptions,
}

impl Default for FileServerOptions {
    fn default() -> Self {
        Self {
            backends: vec![roots::NAME.to_owned()],
            buffer_bytes: limits::FILE_BUFFER_BYTES,
            roots: RootsOptions::default(),
            gitfs: GitfsOptions::default(),
            minionfs: MinionFsOptions::default(),
        }
    }
}

impl FileServerOptions {
    /// The options of a minion that serves files to itself.
    ///
    /// # Errors
    /// When `hash_type` is not a hash, or an option of a remote cannot be used.
    pub fn from_opts(opts: &Map) -> Result<Self, OptionsError> {
        let default = Self::default();
        let backends = match opts.get("fileserver_backend") {
            Some(names) => roots::texts(Some(names)),
            None => default.backends,
        };
        let roots = RootsOptions::from_opts(opts)?;
        let has_git = backends
            .iter()
            .any(|name| gitfs::NAMES.contains(&name.as_str()));
        let gitfs = match has_git {
            true => GitfsOptions {
                fetches_itself: true,
                ..GitfsOptions::from_opts(opts, roots.hash_type)?
            },
            false => GitfsOptions::default(),
        };
        Ok(Self {
            backends,
            roots,
            gitfs,
            ..default
        })
    }
}

/// The sources of files of a master, or of a minion without one. May be shared
/// between threads.
#[derive(Debug)]
pub struct FileServer {
    sources: Vec<Source>,
    merged: MergedLists,
    pub(crate) buffer_bytes: usize,
}

/// What an update of a source has found.
#[derive(Debug)]
pub struct Updated {
    /// The source's name.
    pub backend: &'static str,
    /// The files that are different since its last update.
    pub changes: Result<Changes, UpdateError>,
}

impl FileServer {
    /// Opens the sources that the options name.
    ///
    /// # Errors
    /// When a name is unknown, or an option of a source cannot be used.
    pub fn open(options: &FileServerOptions) -> Result<Self, OptionsError> {
        let sources = options
            .backends
            .iter()
            .map(|name| Source::open(name, options));
        Ok(Self {
            buffer_bytes: options.buffer_bytes,
            ..Self::new(sources.collect::<Result<_, _>>()?)
        })
    }

    /// The directories of `roots` as the only source.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn from_roots(roots: RootsOptions) -> Result<Self, OptionsError> {
        Ok(Self::new(vec![Source::Roots(Roots::new(roots)?)]))
    }

    pub(crate) fn new(sources: Vec<Source>) -> Self {
        Self {
            sources,
            merged: MergedLists::default(),
            buffer_bytes: limits::FILE_BUFFER_BYTES,
        }
    }

    /// The names of the sources that are meant, in their order.
    pub fn backends(&self, meant: &Backends) -> Vec<&'static str> {
        self.meant(meant).map(Source::name).collect()
    }

    /// The environments of all sources that are meant, sorted.
    pub fn envs(&self, meant: &Backends) -> Vec<String> {
        let envs: BTreeSet<String> = self.meant(meant).flat_map(Source::envs).collect();
        envs.into_iter().collect()
    }

    /// Looks for a file; `path` may have options behind a `?`.
    pub fn find(&self, path: &str, saltenv: &SaltEnv) -> Option<Found<'_>> {
        self.find_then(path, saltenv, &Commits::default())
    }

    /// Looks for a file in the commits that a run has begun with; where it names
    /// none, the file is the one of now.
    pub fn find_then(&self, path: &str, saltenv: &SaltEnv, begun: &Commits) -> Option<Found<'_>> {
        let wanted = RequestedPath::parse(path, saltenv)?;
        let mut sources = self.sources.iter();
        let found = sources.find_map(|source| source.find(&wanted, begun));
        if found.is_none() {
            debug!(path, saltenv = %wanted.saltenv, "no source has this file");
        }
        found
    }

    /// Hashes a file; `None` if there is none.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn hash(&self, path: &str, saltenv: &SaltEnv) -> Result<Option<FileHash>, ReadError> {
        let found = self.find(path, saltenv);
        found.map(|found| found.hash()).transpose()
    }

    /// The names of what an environment holds in the sources that are meant.
    pub fn lists(&self, saltenv: &SaltEnv, meant: &Backends) -> Arc<Lists> {
        self.lists_then(saltenv, meant, &Commits::default())
    }

    /// The same in the commits that a run has begun with.
    pub fn lists_then(&self, saltenv: &SaltEnv, meant: &Backends, begun: &Commits) -> Arc<Lists> {
        let mut lists: Vec<_> = self
            .meant(meant)
            .map(|source| source.lists(saltenv, begun))
            .collect();
        match lists.len() {
            0 => Arc::default(),
            1 => lists.pop().unwrap_or_default(),
            _ => self.merged.get(saltenv, lists),
        }
    }

    /// Brings the sources that are meant up to date. What has changed is told
    /// by those sources that keep a record of it.
    pub fn update(&self, meant: &Backends, wish: &UpdateWish) -> Vec<Updated> {
        let updated = self.meant(meant).filter_map(|source| {
            let changes = source.update(wish)?;
            Some(Updated {
                backend: source.name(),
                changes,
            })
        });
        updated.collect()
    }

    /// The commits that an environment's files come from now, by the directories
    /// of their remotes.
    pub fn commits(&self, saltenv: &SaltEnv) -> BTreeMap<String, String> {
        let of_source = |source: &Source| match source {
            Source::Gitfs(git) => git.commits(saltenv),
            _ => BTreeMap::new(),
        };
        self.sources.iter().flat_map(of_source).collect()
    }

    /// Whether files come from repositories.
    pub fn has_repositories(&self) -> bool {
        let is_git = |source: &Source| matches!(source, Source::Gitfs(git) if !git.repositories().is_empty());
        self.sources.iter().any(is_git)
    }

    /// The repositories that files come from.
    pub fn repositories(&self) -> Vec<Arc<Repository>> {
        let of_source = |source: &Source| match source {
            Source::Gitfs(git) => git.repositories().to_vec(),
            _ => Vec::new(),
        };
        self.sources.iter().flat_map(of_source).collect()
    }

    fn meant(&self, meant: &Backends) -> impl Iterator<Item = &Source> {
        let sources = self.sources.iter();
        sources.filter(move |source| meant.means(source.names()))
    }
}

#[cfg(test)]
mod tests;
