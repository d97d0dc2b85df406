//! The repositories that pillars come from (`ext_pillar: - git`), each with its own
//! copy on this machine, read as they were last fetched.
//!
//! Invariant: on a master, compiling a pillar waits for no remote, except for the
//! first fetch of one that was never fetched, and only shortly after the master's
//! start.

mod asked;
mod tree;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use halite_git::remote::RefType;
use halite_git::{
    Fetch, GitError, Limits, OptionsError, Remote, Repository, Role, Snapshot, Updated, all_at_once,
};
use halite_proto::{Map, Value, chain};

use self::asked::Asked;
use self::tree::GitTree;
use crate::limits::{GIT_FETCHED_AGAIN_AFTER, GIT_FIRST_FETCH_MAX};
use crate::repository::{FileTree, RemotePlace, Repositories};

const VERIFY_CONFIG: &str = "git_pillar_verify_config";

/// The entries `git` of `ext_pillar`.
#[derive(Debug)]
pub struct GitPillars {
    entries: Vec<Entry>,
    /// The options of all remotes, without those of logins.
    opts: Map,
    fetched_by: FetchedBy,
}

/// The remotes of an entry, or what is wrong with it.
type Entry = Result<Vec<Arc<GitRemote>>, String>;

/// Who fetches the remotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FetchedBy {
    /// A master, at their intervals.
    Master,
    /// Who compiles a pillar: there is no master that would.
    Reader,
}

/// A remote of pillars, and how far it is with being fetched.
#[derive(Debug)]
pub struct GitRemote {
    repository: Repository,
    opened: Instant,
    /// When a fetch last came to its end, since it was opened.
    tried: Mutex<Option<Instant>>,
    has_tried: Condvar,
    /// Whether the log says that pillars wait for it.
    has_said: AtomicBool,
}

impl GitPillars {
    /// Reads the options of a master, which fetches all remotes itself; nothing
    /// is fetched yet.
    ///
    /// # Errors
    /// When an option of a remote cannot be used. With
    /// `git_pillar_verify_config: False` only the pillars say so.
    pub fn open(opts: &Map, cachedir: &Path) -> Result<Self, String> {
        let verifies = opts.get(VERIFY_CONFIG).is_none_or(Value::is_true);
        let this = Self::of(opts, cachedir, FetchedBy::Master);
        match this.entries.iter().find_map(|entry| entry.as_ref().err()) {
            Some(why) if verifies => Err(why.clone()),
            _ => Ok(this),
        }
    }

    /// Reads the options of a minion without a master: the remotes are fetched
    /// whenever a pillar is compiled, as in Salt. An option that cannot be used
    /// is an error of the pillar.
    pub fn masterless(opts: &Map) -> Self {
        let cachedir = opts.get("cachedir").and_then(Value::as_str);
        Self::of(
            opts,
            Path::new(cachedir.unwrap_or_default()),
            FetchedBy::Reader,
        )
    }

    fn of(opts: &Map, cachedir: &Path, fetched_by: FetchedBy) -> Self {
        let global_lock = opts.get("git_pillar_global_lock");
        let global_lock = global_lock.is_none_or(Value::is_true);
        let limits = match fetched_by {
            FetchedBy::Master => Limits::default(),
            FetchedBy::Reader => Limits::for_readers(),
        };
        let entries = arguments(opts).map(|(_, arguments)| {
            let remotes = remotes(opts, arguments).map_err(|error| error.to_string())?;
            let remote = |remote| {
                let repository = Repository::new(cachedir, remote, global_lock);
                GitRemote::new(repository.with_limits(limits))
            };
            Ok(remotes.into_iter().map(remote).map(Arc::new).collect())
        });
        Self {
            entries: entries.collect(),
            opts: asked::options(opts),
            fetched_by,
        }
    }

    /// Whether there are entries that cannot be read, whose remotes nobody knows.
    pub fn has_faults(&self) -> bool {
        self.entries.iter().any(Result::is_err)
    }

    /// All remotes, in the order of the options.
    pub fn all(&self) -> impl Iterator<Item = &Arc<GitRemote>> {
        self.entries.iter().flatten().flatten()
    }
}

/// What stands behind each `git` of `ext_pillar`, with its place in the list.
fn arguments(opts: &Map) -> impl Iterator<Item = (usize, &Value)> {
    let externals = opts.get("ext_pillar").and_then(Value::as_list);
    let externals = externals.unwrap_or_default().iter().enumerate();
    externals.filter_map(|(at, external)| Some((at, external.as_map()?.get("git")?)))
}

fn remotes(opts: &Map, arguments: &Value) -> Result<Vec<Remote>, OptionsError> {
    let one = std::slice::from_ref(arguments);
    Remote::all(Role::GitPillar, opts, arguments.as_list().unwrap_or(one))
}

/// The options of remotes of pillars that stop a master's start, with their
/// places in `ext_pillar`.
pub fn unusable_git_remotes(opts: &Map) -> Vec<(usize, OptionsError)> {
    let verifies = opts.get(VERIFY_CONFIG).is_none_or(Value::is_true);
    let all = arguments(opts).filter(|_| verifies);
    all.filter_map(|(at, arguments)| Some((at, remotes(opts, arguments).err()?)))
        .collect()
}

impl GitRemote {
    fn new(repository: Repository) -> Self {
        Self {
            repository,
            opened: Instant::now(),
            tried: Mutex::default(),
            has_tried: Condvar::new(),
            has_said: AtomicBool::new(false),
        }
    }

    /// The remote.
    pub fn remote(&self) -> &Remote {
        self.repository.remote()
    }

    /// Its copy on this machine.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Fetches it, after whoever does that already. Blocks.
    ///
    /// # Errors
    /// When it cannot be fetched; what was fetched before stays.
    pub fn update(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        self.ended(self.repository.update_behind_others(stop))
    }

    /// Has those go on who wait for the first fetch; not while somebody else is
    /// still at it.
    fn ended(&self, updated: Result<Updated, GitError>) -> Result<Updated, GitError> {
        if !matches!(updated, Err(GitError::Locked { .. })) {
            let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
            *tried = Some(Instant::now());
            self.has_tried.notify_all();
        }
        updated
    }

    /// Waits for the first fetch, if the master is young.
    fn wait_for_first_fetch(&self) {
        let left = GIT_FIRST_FETCH_MAX.saturating_sub(self.opened.elapsed());
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.is_some() || left.is_zero() {
            return;
        }
        let remote = self.remote();
        if !self.has_said.swap(true, Ordering::Relaxed) {
            let seconds = left.as_secs();
            tracing::warn!(
                %remote,
                "git_pillar: pillars wait at most {seconds} s for its first fetch"
            );
        }
        let waited = self
            .has_tried
            .wait_timeout_while(tried, left, |tried| tried.is_none());
        let (tried, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(tried);
        if waited.timed_out() && self.has_said.swap(false, Ordering::Relaxed) {
            tracing::error!(
                %remote,
                "git_pillar: its first fetch is not complete; pillars have an error until then"
            );
        }
    }

    /// What was fetched, or why there is nothing yet.
    fn snapshot(&self, fetched_by: FetchedBy) -> Result<Arc<Snapshot>, String> {
        let read = || self.repository.snapshot().map_err(|error| chain(&error));
        if let Some(snapshot) = read()? {
            return Ok(snapshot);
        }
        if fetched_by == FetchedBy::Master {
            self.wait_for_first_fetch();
            if let Some(snapshot) = read()? {
                return Ok(snapshot);
            }
        }
        Err(match self.repository.status().failed {
            Some((_, why)) => format!("it was never fetched: {why}"),
            None => format!(
                "it is not fetched yet, its first fetch has begun {} s ago",
                self.opened.elapsed().as_secs()
            ),
        })
    }

    fn tree(&self, wanted: &str, fetched_by: FetchedBy) -> Result<Option<GitTree>, String> {
        let remote = self.remote();
        let kinds_of = |name: &str| kinds(remote, name).collect();
        let named = [Some(wanted), remote.fallback.as_deref()];
        self.tree_of(named, kinds_of, &remote.root, fetched_by)
    }

    /// The files below a root of the first of these names that the remote has.
    fn tree_of(
        &self,
        named: [Option<&str>; 2],
        kinds_of: impl Fn(&str) -> Vec<RefType>,
        root: &str,
        fetched_by: FetchedBy,
    ) -> Result<Option<GitTree>, String> {
        let text = |error: GitError| chain(&error);
        let snapshot = self.snapshot(fetched_by)?;
        let remote = self.remote();
        for name in named.into_iter().flatten() {
            let commit = snapshot.resolve(kinds_of(name), name).map_err(text)?;
            let Some(commit) = commit else { continue };
            let tree = commit.tree.below(root).map_err(text)?;
            if tree.is_none() {
                tracing::error!(%remote, root, "git_pillar: there is no such root");
            }
            let name = format!("{}@{}", remote.url, commit.id);
            return Ok(tree.map(|tree| GitTree { name, tree }));
        }
        Ok(None)
    }
}

impl Fetch for GitRemote {
    fn repository(&self) -> &Repository {
        &self.repository
    }

    fn fetch(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        self.ended(self.repository.update(stop))
    }
}

/// Fetches those remotes that were not fetched within the last moment: a pillar
/// is often compiled twice in a row.
fn fetch_now(remotes: &[Arc<GitRemote>]) {
    let is_due = |remote: &&Arc<GitRemote>| {
        let tried = remote.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.is_none_or(|tried| tried.elapsed() >= GIT_FETCHED_AGAIN_AFTER)
    };
    let due: Vec<_> = remotes.iter().filter(is_due).collect();
    let stop = Arc::default();
    all_at_once(&due, |remote| {
        if let Err(error) = remote.update(&stop) {
            let remote = remote.remote();
            tracing::error!(%remote, "git_pillar: could not update a git remote: {}", chain(&error));
        }
    });
}

/// What a name may be. One that is not in the options comes from a minion, which
/// chooses among branches and tags and not among all commits that ever were.
fn kinds<'a>(remote: &'a Remote, name: &str) -> impl Iterator<Item = RefType> + use<'a> {
    let configured = [
        Some(&remote.branch),
        Some(&remote.base),
        remote.all_saltenvs.as_ref(),
        remote.fallback.as_ref(),
    ];
    let is_configured = configured.into_iter().flatten().any(|it| it == name);
    let kinds = remote.ref_types.iter().copied();
    kinds.filter(move |kind| is_configured || *kind != RefType::Sha)
}

impl Repositories for GitPillars {
    fn remotes(&self, nth: usize) -> Result<Vec<RemotePlace>, String> {
        let Some(entry) = self.entries.get(nth) else {
            return Ok(Vec::new());
        };
        let remotes = entry.as_ref().map_err(Clone::clone)?;
        if self.fetched_by == FetchedBy::Reader {
            fetch_now(remotes);
        }
        Ok(remotes
            .iter()
            .map(|remote| place(remote.remote()))
            .collect())
    }

    fn tree(
        &self,
        nth: usize,
        remote: usize,
        wanted: &str,
    ) -> Result<Option<Arc<dyn FileTree>>, String> {
        let entry = self.entries.get(nth).and_then(|entry| entry.as_ref().ok());
        let Some(remote) = entry.and_then(|remotes| remotes.get(remote)) else {
            return Ok(None);
        };
        let tree = remote.tree(wanted, self.fetched_by)?;
        Ok(tree.map(|tree| Arc::new(tree) as Arc<dyn FileTree>))
    }

    fn asked(&self, arguments: &Value) -> Result<Option<Arc<dyn Repositories>>, String> {
        let asked = Asked::new(self, arguments)?;
        Ok(asked.map(|asked| Arc::new(asked) as Arc<dyn Repositories>))
    }
}

fn place(remote: &Remote) -> RemotePlace {
    RemotePlace {
        name: remote.to_string(),
        branch: remote.branch.clone(),
        base: remote.base.clone(),
        env: remote.env.clone(),
        all_saltenvs: remote.all_saltenvs.clone(),
        mountpoint: remote.mountpoint.clone(),
    }
}

#[cfg(test)]
mod tests;
