//! The sources of files, and a file that one of them has found.
//!
//! Each source answers from its own snapshot: a file that was found stays readable
//! as it was found, or reports that it has gone.

use std::path::PathBuf;
use std::sync::Arc;

use halite_proto::SaltEnv;
use halite_proto::request::Commits;

use crate::file::Stat;
use crate::gitfs::{self, GitFile, Gitfs};
use crate::limits::WHOLE_FILE_BYTES_MAX;
use crate::minionfs::{self, MinionFs};
use crate::requested_path::RequestedPath;
use crate::roots::{self, Roots};
use crate::server::FileServerOptions;
use crate::wish::UpdateWish;
use crate::{Changes, FileHash, Lists, OptionsError, ReadError, UpdateError};

#[cfg(test)]
use crate::memoryfs::{self, Memory};

/// Where files come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Directories of this machine: `file_roots`.
    Roots(Roots),
    /// Commits of git repositories.
    Gitfs(Gitfs),
    /// What minions have pushed.
    MinionFs(MinionFs),
    /// Files held in memory, which the tests of several sources need.
    #[cfg(test)]
    Memory(Memory),
}

/// A file that was found.
#[derive(Debug)]
pub struct Found<'a> {
    /// Where it is, as minions are told: its path on this machine, if it has
    /// one.
    pub path: PathBuf,
    /// Its path within its environment.
    pub rel: String,
    /// What Python's `os.stat` says of it.
    pub stat: Stat,
    /// The name of the source that has it.
    pub backend: &'static str,
    pub(crate) content: Content<'a>,
}

/// How a source reads what it has found.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// A file below a directory.
    Roots {
        /// The source.
        roots: &'a Roots,
        /// The directory.
        root: PathBuf,
    },
    /// A file of a commit.
    Gitfs(&'a Gitfs, GitFile),
    /// A file that a minion has pushed.
    MinionFs(&'a MinionFs),
    /// Bytes in memory.
    #[cfg(test)]
    Memory(Arc<[u8]>),
}

impl Source {
    /// Opens the source of that name.
    pub(crate) fn open(name: &str, options: &FileServerOptions) -> Result<Self, OptionsError> {
        match name {
            roots::NAME => Ok(Self::Roots(Roots::new(options.roots.clone())?)),
            name if gitfs::NAMES.contains(&name) => {
                Ok(Self::Gitfs(Gitfs::new(options.gitfs.clone())))
            }
            name if minionfs::NAMES.contains(&name) => {
                Ok(Self::MinionFs(MinionFs::new(&options.minionfs)?))
            }
            _ => Err(OptionsError::Backend {
                name: name.to_owned(),
            }),
        }
    }

    /// The names it goes by in requests, its own one first.
    pub(crate) fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Roots(_) => &[roots::NAME],
            Self::Gitfs(_) => gitfs::NAMES,
            Self::MinionFs(_) => minionfs::NAMES,
            #[cfg(test)]
            Self::Memory(_) => memoryfs::NAMES,
        }
    }

    /// Its own name.
    pub(crate) fn name(&self) -> &'static str {
        self.names().first().copied().unwrap_or_default()
    }

    /// The environments that it has something for.
    pub(crate) fn envs(&self) -> Vec<String> {
        match self {
            Self::Roots(roots) => roots.envs(),
            Self::Gitfs(git) => git.envs(),
            Self::MinionFs(pushed) => pushed.envs(),
            #[cfg(test)]
            Self::Memory(memory) => memory.envs(),
        }
    }

    /// Looks for a file, in the commits that a run has begun with.
    pub(crate) fn find(&self, wanted: &RequestedPath, begun: &Commits) -> Option<Found<'_>> {
        match self {
            Self::Roots(roots) => roots.find(wanted),
            Self::Gitfs(git) => {
                let found = git.find(wanted, begun)?;
                Some(Found {
                    path: found.path,
                    rel: wanted.rel.clone(),
                    stat: found.stat,
                    backend: self.name(),
                    content: Content::Gitfs(git, found.file),
                })
            }
            Self::MinionFs(pushed) => pushed.find(wanted),
            #[cfg(test)]
            Self::Memory(memory) => memory.find(wanted),
        }
    }

    /// The names of what an environment holds.
    pub(crate) fn lists(&self, saltenv: &SaltEnv, begun: &Commits) -> Arc<Lists> {
        match self {
            Self::Roots(roots) => roots.lists(saltenv),
            Self::Gitfs(git) => git.lists(saltenv, begun),
            Self::MinionFs(pushed) => pushed.lists(saltenv),
            #[cfg(test)]
            Self::Memory(memory) => memory.lists(saltenv),
        }
    }

    /// Brings it up to date; `None` if it keeps no record of changes.
    pub(crate) fn update(&self, wish: &UpdateWish) -> Option<Result<Changes, UpdateError>> {
        match self {
            Self::Roots(roots) => roots.update(),
            Self::Gitfs(git) => Some(Ok(git.update(wish))),
            // Pushed files are served as they are.
            Self::MinionFs(_) => None,
            #[cfg(test)]
            Self::Memory(memory) => memory.update(),
        }
    }
}

impl Found<'_> {
    /// Its hash.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn hash(&self) -> Result<FileHash, ReadError> {
        let hash = match &self.content {
            Content::Roots { roots, root } => roots.hash(root, &self.path),
            Content::Gitfs(git, file) => git.hash(file).map(|hsum| FileHash {
                hash_type: git.hash_type(),
                hsum,
            }),
            Content::MinionFs(pushed) => pushed.hash(&self.rel),
            #[cfg(test)]
            Content::Memory(bytes) => Ok(memoryfs::hash(bytes)),
        };
        hash.map_err(|source| self.unreadable(source))
    }

    /// At most `bytes_max` bytes from `loc` on, and the version of the content
    /// that they belong to: it changes when the content does.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, loc: u64, bytes_max: usize) -> Result<(Vec<u8>, String), ReadError> {
        let read = match &self.content {
            Content::Roots { roots, root } => roots.read(root, &self.path, loc, bytes_max),
            Content::Gitfs(_, file) => file.read(loc, bytes_max),
            Content::MinionFs(pushed) => pushed.read(&self.rel, loc, bytes_max),
            #[cfg(test)]
            Content::Memory(bytes) => Ok(memoryfs::read(bytes, loc, bytes_max)),
        };
        read.map_err(|source| self.unreadable(source))
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// When it cannot be read, or is larger than [`WHOLE_FILE_BYTES_MAX`].
    pub fn read_whole(&self) -> Result<Vec<u8>, ReadError> {
        let (bytes, _) = self.read(0, WHOLE_FILE_BYTES_MAX + 1)?;
        if bytes.len() > WHOLE_FILE_BYTES_MAX {
            let why = format!("it is larger than {WHOLE_FILE_BYTES_MAX} bytes");
            return Err(self.unreadable(std::io::Error::other(why)));
        }
        Ok(bytes)
    }

    pub(crate) fn unreadable(&self, source: std::io::Error) -> ReadError {
        ReadError {
            path: self.path.clone(),
            source,
        }
    }
}
