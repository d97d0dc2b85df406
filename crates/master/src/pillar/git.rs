//! The repositories that pillars come from (`ext_pillar: - git`): fetched by
//! the master, each on its own, and read as they were last fetched.
//!
//! Invariant: who compiles a pillar waits for no remote, but for the first fetch
//! of one that was never fetched, and only while the master is young.

mod fetching;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use halite_git::remote::RefType;
use halite_git::{GitError, OptionsError, Remote, Repository, Role, Snapshot, Tree, Updated};
use halite_pillar::{FileTree, RemotePlace, Repositories};
use halite_proto::{Map, Value, chain};

pub(crate) use self::fetching::Fetching;
use crate::files::remotes::spread;
use crate::limits::{GIT_PILLAR_FETCHES_MAX, GIT_PILLAR_FIRST_FETCH_MAX};

/// The shortest time between two fetches of a remote.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

const VERIFY_CONFIG: &str = "git_pillar_verify_config";

/// The entries `git` of `ext_pillar`.
#[derive(Debug)]
pub(crate) struct GitPillars {
    entries: Vec<Entry>,
}

/// The remotes of an entry, or what is wrong with it.
type Entry = Result<Vec<Arc<Fetched>>, String>;

/// A remote, and how far it is with being fetched.
#[derive(Debug)]
pub(crate) struct Fetched {
    repository: Repository,
    /// Held while it is fetched.
    fetching: Mutex<()>,
    /// When it is to be fetched next.
    due: Mutex<Instant>,
    /// Whether a fetch has come to its end since the start.
    tried: Mutex<bool>,
    has_tried: Condvar,
    /// Why it could not be fetched, as the log says it.
    told: Mutex<String>,
    /// Until when somebody waits for that.
    young_until: Instant,
}

impl GitPillars {
    /// Reads the options; nothing is fetched yet.
    ///
    /// # Errors
    /// When an option of a remote cannot be used. With
    /// `git_pillar_verify_config: False` only the pillars say so.
    pub(crate) fn open(opts: &Map, cachedir: &Path) -> Result<Self, String> {
        let is_on = |name: &str| opts.get(name).is_none_or(Value::is_true);
        let (verifies, global_lock) = (is_on(VERIFY_CONFIG), is_on("git_pillar_global_lock"));
        let mut entries = Vec::new();
        for (_, arguments) in arguments(opts) {
            let entry = remotes(opts, arguments).map_err(|error| error.to_string());
            let entry = entry.map(|remotes| {
                let fetched = |remote| Fetched::new(cachedir, remote, global_lock);
                remotes.into_iter().map(fetched).map(Arc::new).collect()
            });
            match entry {
                Err(why) if verifies => return Err(why),
                entry => entries.push(entry),
            }
        }
        Ok(Self { entries })
    }

    /// All remotes, in the order of the options.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Fetched>> {
        self.entries.iter().flatten().flatten()
    }

    /// When the next remote is to be fetched.
    fn next_due(&self) -> Option<Instant> {
        self.all().map(|remote| *remote.due()).min()
    }

    /// The remotes that are to be fetched by now, `max` at most. They are due
    /// again after their interval.
    fn take_due(&self, now: Instant, max: usize) -> Vec<Arc<Fetched>> {
        let is_due = |remote: &&Arc<Fetched>| {
            let mut due = remote.due();
            let is_due = *due <= now;
            if is_due {
                *due = now + spread(remote.remote().update_interval.max(INTERVAL_MIN));
            }
            is_due
        };
        self.all().filter(is_due).take(max).cloned().collect()
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

/// The options of remotes of pillars that stop the start, with their places in
/// `ext_pillar`.
pub(crate) fn unusable(opts: &Map) -> Vec<(usize, OptionsError)> {
    let verifies = opts.get(VERIFY_CONFIG).is_none_or(Value::is_true);
    let all = arguments(opts).filter(|_| verifies);
    all.filter_map(|(at, arguments)| Some((at, remotes(opts, arguments).err()?)))
        .collect()
}

impl Fetched {
    fn new(cachedir: &Path, remote: Remote, global_lock: bool) -> Self {
        Self {
            repository: Repository::new(cachedir, remote, global_lock),
            fetching: Mutex::default(),
            due: Mutex::new(Instant::now()),
            tried: Mutex::default(),
            has_tried: Condvar::new(),
            told: Mutex::default(),
            young_until: Instant::now() + GIT_PILLAR_FIRST_FETCH_MAX,
        }
    }

    /// The remote.
    pub(crate) fn remote(&self) -> &Remote {
        self.repository.remote()
    }

    /// Its copy on this machine.
    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Fetches it, after whoever does that already. Blocks.
    ///
    /// # Errors
    /// When it cannot be fetched; what was fetched before stays.
    pub(crate) fn update(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        let _fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        self.fetch(stop)
    }

    /// Fetches it below its held lock.
    fn fetch(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        let updated = self.repository.update(stop);
        *self.tried.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.has_tried.notify_all();
        updated
    }

    /// What it has, after its first fetch if the master is young.
    fn snapshot(&self) -> Result<Option<Arc<Snapshot>>, GitError> {
        if let Some(snapshot) = self.repository.snapshot()? {
            return Ok(Some(snapshot));
        }
        let left = self.young_until.saturating_duration_since(Instant::now());
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.has_tried
                .wait_timeout_while(tried, left, |tried| !*tried),
        );
        self.repository.snapshot()
    }

    /// The same, unless somebody does that already, with its errors in the log.
    pub(crate) fn refresh(&self, stop: &Arc<AtomicBool>) {
        let _fetching = match self.fetching.try_lock() {
            Ok(fetching) => fetching,
            Err(TryLockError::Poisoned(fetching)) => fetching.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let updated = self.fetch(stop);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match updated {
            Ok(_) => told.clear(),
            Err(GitError::Stopped) => {}
            Err(error @ GitError::Locked { .. }) => {
                tracing::debug!(remote = %self.remote(), "git_pillar: {error}");
            }
            Err(error) => {
                // Once, and again when something else is wrong.
                let text = chain(&error);
                if text != *told {
                    tracing::error!(remote = %self.remote(), "git_pillar: {text}");
                    *told = text;
                }
            }
        }
    }

    fn due(&self) -> MutexGuard<'_, Instant> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree(&self, wanted: &str) -> Result<Option<GitTree>, String> {
        let told = |error: GitError| chain(&error).to_string();
        let Some(snapshot) = self.snapshot().map_err(told)? else {
            return Err(match self.repository.status().failed {
                Some((_, why)) => format!("it was never fetched: {why}"),
                None => "it is not fetched yet".to_owned(),
            });
        };
        let remote = self.remote();
        let named = [Some(wanted), remote.fallback.as_deref()];
        for name in named.into_iter().flatten() {
            let commit = snapshot.resolve(kinds(remote, name), name).map_err(told)?;
            let Some(commit) = commit else { continue };
            let tree = commit.tree.below(&remote.root).map_err(told)?;
            if tree.is_none() {
                tracing::error!(%remote, root = remote.root, "git_pillar: there is no such root");
            }
            let name = format!("{}@{}", remote.url, commit.id);
            return Ok(tree.map(|tree| GitTree { name, tree }));
        }
        Ok(None)
    }
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

/// Fetches several remotes at once, and says of each what came of it. Blocks
/// until the slowest is there.
pub(crate) fn update_all(
    remotes: &[Arc<Fetched>],
    stop: &Arc<AtomicBool>,
) -> Vec<Result<Updated, GitError>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..remotes.len().min(GIT_PILLAR_FETCHES_MAX) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(remote) = remotes.get(at) else {
                        return;
                    };
                    let updated = remote.update(stop);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, updated));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, updated)| updated).collect()
}

impl Repositories for GitPillars {
    fn remotes(&self, nth: usize) -> Result<Vec<RemotePlace>, String> {
        let Some(entry) = self.entries.get(nth) else {
            return Ok(Vec::new());
        };
        let remotes = entry.as_ref().map_err(Clone::clone)?;
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
        let tree = remote.tree(wanted)?;
        Ok(tree.map(|tree| Arc::new(tree) as Arc<dyn FileTree>))
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

/// The root directory of a remote at one commit.
struct GitTree {
    name: String,
    tree: Tree,
}

impl fmt::Debug for GitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GitTree").field(&self.name).finish()
    }
}

impl FileTree for GitTree {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn has_file(&self, path: &str) -> Result<bool, String> {
        let found = self.tree.find(path);
        let found = found.map_err(|error| format!("{}/{path}: {}", self.name, chain(&error)));
        Ok(found?.is_some())
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let failed = |why: &dyn fmt::Display| format!("{}/{path}: {why}", self.name);
        let told = |error: GitError| failed(&chain(&error));
        let found = self.tree.find(path).map_err(told)?;
        let file = found.ok_or_else(|| failed(&"there is no such file"))?;
        if self.tree.size(&file).map_err(told)? > bytes_max {
            return Err(failed(&format_args!("larger than {bytes_max} bytes")));
        }
        let content = self.tree.content(&file).map_err(told)?;
        let bytes = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        content.read_at(0, bytes).map_err(|error| failed(&error))
    }

    fn files(&self, max: usize) -> Vec<String> {
        let mut files = Vec::new();
        let walked = self.tree.walk(&mut |path, entry| {
            let is_file = match entry {
                halite_git::Entry::File(_) => true,
                // Who asks for it learns why it cannot be read.
                halite_git::Entry::Link(_) => self.has_file(path).unwrap_or(true),
                halite_git::Entry::Directory => false,
            };
            if is_file && files.len() < max {
                files.push(path.to_owned());
            }
        });
        if let Err(error) = walked {
            tracing::error!(tree = self.name, "git_pillar: {}", chain(&error));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minion_chooses_no_commit() {
        let entry = Value::from("__env__ https://host/x.git");
        let opts = Map::from([
            ("git_pillar_base", "0123abc"),
            ("git_pillar_fallback", "456def0"),
        ]);
        let remote = remotes(&opts, &entry).unwrap().remove(0);
        let may_be_commit = |name: &str| kinds(&remote, name).any(|kind| kind == RefType::Sha);
        assert!(may_be_commit("0123abc"));
        assert!(may_be_commit("456def0"));
        assert!(!may_be_commit("0123456789012345678901234567890123456789"));
        assert!(kinds(&remote, "dev").eq([RefType::Branch, RefType::Tag]));
    }

    #[test]
    fn options_that_stop_the_start_have_their_place() {
        let git = |address: &str| Value::from(Map::from([("git", Value::from(address))]));
        let entries = vec![Map::new().into(), git("main /srv/x"), git("main ext::sh")];
        let mut opts = Map::from([("ext_pillar", Value::List(entries))]);
        let found = unusable(&opts);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0, found[0].1.option.as_str()), (2, "remotes"));
        opts.insert(VERIFY_CONFIG, false);
        assert!(unusable(&opts).is_empty());
    }
}
