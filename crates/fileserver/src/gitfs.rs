//! The source `gitfs`: files of commits in git repositories.
//!
//! Mirrors `GitFS` of `salt/utils/gitfs.py` (3008.5): which remotes are asked
//! for an environment, mount points and roots, and that the first remote that
//! has a file answers for it. Files are read from the objects of a commit, so
//! nothing is checked out, and nothing waits for a remote.

mod complaints;
mod fetching;
mod listing;
mod moved;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_crypto::{HashType, Hasher};
use halite_git::remote::is_commit_id;
use halite_git::{Commit, GitError, Id, Limits, Remote, Repository, Snapshot, Tree, TreeFile};
use halite_proto::request::Commits;
use halite_proto::{Map, SaltEnv, Value};

use self::complaints::Complaints;
use self::fetching::Fetching;
use self::listing::ListCache;
use crate::file::Stat;
use crate::limits::HASHES_MAX;
use crate::requested_path::RequestedPath;
use crate::wish::UpdateWish;
use crate::{Changes, Lists, OptionsError};

/// The names of this source.
pub(crate) const NAMES: &[&str] = &["gitfs", "git"];

const FILE_MODE: u32 = 0o100_644;
const PROGRAM_MODE: u32 = 0o100_755;

/// What the source `gitfs` serves, and how.
#[derive(Clone, Debug)]
pub struct GitfsOptions {
    /// `gitfs_remotes`.
    pub remotes: Vec<Remote>,
    /// `cachedir`; repositories are in `gitfs` below it.
    pub cachedir: PathBuf,
    /// `gitfs_global_lock`: locks of other machines count.
    pub global_lock: bool,
    /// `hash_type`.
    pub hash_type: HashType,
    /// Nobody else updates the remotes: it is done when files are asked for and
    /// the interval of a remote is over.
    pub fetches_itself: bool,
}

impl Default for GitfsOptions {
    fn default() -> Self {
        Self {
            remotes: Vec::new(),
            cachedir: PathBuf::new(),
            global_lock: true,
            hash_type: HashType::Sha256,
            fetches_itself: false,
        }
    }
}

impl GitfsOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// When an option of a remote cannot be used.
    pub fn from_opts(opts: &Map, hash_type: HashType) -> Result<Self, OptionsError> {
        let cachedir = opts.get("cachedir").and_then(Value::as_str);
        Ok(Self {
            remotes: Remote::gitfs(opts)?,
            cachedir: cachedir.unwrap_or_default().into(),
            global_lock: opts.get("gitfs_global_lock").is_none_or(Value::is_true),
            hash_type,
            fetches_itself: false,
        })
    }
}

/// The files of all remotes.
#[derive(Debug)]
pub(crate) struct Gitfs {
    repositories: Vec<Arc<Repository>>,
    cachedir: PathBuf,
    hash_type: HashType,
    /// What a blob has is its id, so a hash is never old.
    hashes: Mutex<HashMap<Id, String>>,
    lists: ListCache,
    fetching: Option<Fetching>,
    complaints: Complaints,
}

/// A file of a commit.
#[derive(Clone, Debug)]
pub(crate) struct GitFile {
    tree: Tree,
    file: TreeFile,
}

/// A file that was found.
pub(crate) struct GitFound {
    /// Where Salt has a copy of it.
    pub(crate) path: PathBuf,
    pub(crate) stat: Stat,
    pub(crate) file: GitFile,
}

/// A remote as it was when it was looked at.
struct Looked<'a> {
    remote: &'a Remote,
    repository: &'a Repository,
    snapshot: Arc<Snapshot>,
    complaints: &'a Complaints,
}

impl Gitfs {
    /// Takes the options; nothing is read yet.
    pub(crate) fn new(options: GitfsOptions) -> Self {
        let limits = match options.fetches_itself {
            true => Limits::for_readers(),
            false => Limits::default(),
        };
        let repository = |remote| {
            let repository = Repository::new(&options.cachedir, remote, options.global_lock);
            Arc::new(repository.with_limits(limits))
        };
        Self {
            repositories: options.remotes.into_iter().map(repository).collect(),
            cachedir: options.cachedir,
            hash_type: options.hash_type,
            hashes: Mutex::default(),
            lists: ListCache::default(),
            fetching: options.fetches_itself.then(Fetching::default),
            complaints: Complaints::default(),
        }
    }

    pub(crate) fn repositories(&self) -> &[Arc<Repository>] {
        &self.repositories
    }

    /// The environments of all remotes.
    pub(crate) fn envs(&self) -> Vec<String> {
        let looked = self.look();
        let envs = looked.iter().flat_map(|it| it.snapshot.envs(it.remote));
        // A branch with a slash in its name is one only if `saltenv` maps it:
        // minions have directories for environments.
        let envs = envs.filter(|env| SaltEnv::parse(env.as_str()).is_ok());
        let envs: std::collections::BTreeSet<String> = envs.collect();
        envs.into_iter().collect()
    }

    /// Looks for a file.
    pub(crate) fn find(&self, wanted: &RequestedPath, begun: &Commits) -> Option<GitFound> {
        let saltenv = wanted.saltenv.as_str();
        let looked = self.look();
        let begun = begun.of_env(&wanted.saltenv);
        let is_there = has_env(&looked, saltenv);
        for it in &looked {
            let Some(path) = within(it.remote.mountpoint(saltenv), &wanted.rel) else {
                continue;
            };
            let Some(commit) = it.commit_then(saltenv, is_there, begun) else {
                continue;
            };
            // From the top: a link may lead out of the root, not of the tree.
            let path = match it.remote.root(saltenv) {
                "" => path.to_owned(),
                root => format!("{root}/{path}"),
            };
            let found = commit.tree.find(&path);
            let Some(file) = it.logged(found).flatten() else {
                continue;
            };
            let git_file = GitFile {
                tree: commit.tree,
                file,
            };
            let size = it.logged(git_file.tree.size(&file))?;
            let mode = if file.executable {
                PROGRAM_MODE
            } else {
                FILE_MODE
            };
            let refs = self.cachedir.join("gitfs/refs").join(saltenv);
            return Some(GitFound {
                path: refs.join(&wanted.rel),
                stat: Stat::of_mode(mode, size),
                file: git_file,
            });
        }
        None
    }

    /// What files are hashed with.
    pub(crate) const fn hash_type(&self) -> HashType {
        self.hash_type
    }

    /// Hashes a file.
    pub(crate) fn hash(&self, file: &GitFile) -> io::Result<String> {
        let id = file.file.id;
        if let Some(hsum) = self.hashes().get(&id) {
            return Ok(hsum.clone());
        }
        let mut hasher = Hasher::new(self.hash_type);
        file.content()?
            .each_piece(&mut |piece| hasher.update(piece))?;
        let hsum = hasher.finish_hex();
        let mut hashes = self.hashes();
        if hashes.len() >= HASHES_MAX {
            hashes.clear();
        }
        hashes.insert(id, hsum.clone());
        Ok(hsum)
    }

    /// Fetches the remotes that are meant, all at once.
    pub(crate) fn update(&self, wish: &UpdateWish) -> Changes {
        let is_meant = |repository: &&Arc<Repository>| {
            let remote = repository.remote();
            let is_it =
                |named: &String| remote.name.as_ref() == Some(named) || *named == remote.id();
            wish.remotes.is_empty() || wish.remotes.iter().any(is_it)
        };
        let meant: Vec<_> = self.repositories.iter().filter(is_meant).cloned().collect();
        fetching::update_all(&meant, &wish.stop)
    }

    fn hashes(&self) -> MutexGuard<'_, HashMap<Id, String>> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The remotes that were fetched at least once, as they are now.
    fn look(&self) -> Vec<Looked<'_>> {
        if let Some(fetching) = &self.fetching {
            fetching.update_due(&self.repositories);
        }
        let looked = self.repositories.iter().filter_map(|repository| {
            let remote = repository.remote();
            let snapshot = repository.snapshot();
            let complaints = &self.complaints;
            let snapshot = complaints.logged(remote, snapshot)??;
            Some(Looked {
                remote,
                repository,
                snapshot,
                complaints,
            })
        });
        looked.collect()
    }
}

impl Looked<'_> {
    /// The commit of an environment, if this remote is asked for it.
    fn commit(&self, saltenv: &str, is_there: bool) -> Option<Commit> {
        if !is_there && self.remote.fallback.is_none() {
            return None;
        }
        let commit = self.snapshot.commit(self.remote, saltenv);
        let commit = self.logged(commit).flatten()?;
        // A minion has chosen it: not among those that a forced push took back.
        let is_reached = !is_commit_id(saltenv)
            || self.logged(self.repository.reaches(&self.snapshot, commit.id))?;
        is_reached.then_some(commit)
    }

    /// The commit of an environment in a run that has begun with these; the one
    /// of now where nobody says, or that one has gone.
    fn commit_then(
        &self,
        saltenv: &str,
        is_there: bool,
        begun: Option<&BTreeMap<String, String>>,
    ) -> Option<Commit> {
        let Some(begun) = begun else {
            return self.commit(saltenv, is_there);
        };
        let id = begun.get(&self.remote.dir())?;
        let then = self.snapshot.commit_then(self.remote, saltenv, id);
        self.logged(then).flatten().or_else(|| {
            let now = self.commit(saltenv, is_there)?;
            self.complaints.moved_on(self.remote, saltenv, id);
            Some(now)
        })
    }

    fn logged<T>(&self, result: Result<T, GitError>) -> Option<T> {
        self.complaints.logged(self.remote, result)
    }
}

impl GitFile {
    /// At most `bytes_max` bytes from `loc` on, and the version of the content.
    pub(crate) fn read(&self, loc: u64, bytes_max: usize) -> io::Result<(Vec<u8>, String)> {
        let data = self.content()?.read_at(loc, bytes_max)?;
        Ok((data, self.file.id.to_string()))
    }

    fn content(&self) -> io::Result<halite_git::Content> {
        self.tree.content(&self.file).map_err(io::Error::other)
    }
}

/// Whether any remote has an environment; the id of a commit may be one.
fn has_env(looked: &[Looked<'_>], saltenv: &str) -> bool {
    let has = |it: &Looked<'_>| it.snapshot.has_env(it.remote, saltenv);
    is_commit_id(saltenv) || looked.iter().any(has)
}

/// A path below a mount point.
fn within<'p>(mountpoint: &str, path: &'p str) -> Option<&'p str> {
    match mountpoint {
        "" => Some(path),
        above => path.strip_prefix(above)?.strip_prefix('/'),
    }
}

impl Gitfs {
    /// The commits of an environment, by the directories of their remotes.
    pub(crate) fn commits(&self, saltenv: &SaltEnv) -> BTreeMap<String, String> {
        let env = saltenv.as_str();
        let looked = self.look();
        let is_there = has_env(&looked, env);
        let commits = looked.iter().filter_map(|it| {
            let commit = it.commit(env, is_there)?;
            Some((it.remote.dir(), commit.id.to_string()))
        });
        commits.collect()
    }

    /// The names of what an environment holds.
    pub(crate) fn lists(&self, saltenv: &SaltEnv, begun: &Commits) -> Arc<Lists> {
        let begun = begun.of_env(saltenv);
        let env = saltenv.as_str();
        let looked = self.look();
        let is_there = has_env(&looked, env);
        let trees = looked.iter().filter_map(|it| {
            let commit = it.commit_then(env, is_there, begun)?;
            let tree = it
                .logged(commit.tree.below(it.remote.root(env)))
                .flatten()?;
            Some((it.remote.mountpoint(env).to_owned(), tree))
        });
        let trees: Vec<(String, Tree)> = trees.collect();
        self.lists.get(saltenv, &trees)
    }
}
