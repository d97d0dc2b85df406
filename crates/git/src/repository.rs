//! A remote and its copy on this machine.
//!
//! Invariant: an update changes nothing that a reader holds, and one that fails, or
//! is interrupted by a kill or a power cut, leaves nothing that stops the next.

mod copy;
mod local_refs;
mod news;
mod reach;
mod signed;
mod unused;
mod update;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};
use halite_process::clock::unix_seconds;
use halite_proto::chain;

use self::reach::Reached;
pub use self::unused::remove_unused;
use crate::limits::Limits;
use crate::lock::{Lock, Taken};
use crate::objects::Objects;
use crate::promotion::Promotions;
use crate::remote::RefType;
use crate::signatures::Signers;
use crate::snapshot::{Refs, Snapshot};
use crate::{Commit, GitError, Remote, limits};

/// A remote and its copy on this machine. May be shared between threads, and
/// several processes may have the same one.
#[derive(Debug)]
pub struct Repository {
    remote: Remote,
    places: Places,
    /// Locks of other machines count: `gitfs_global_lock`.
    global_lock: bool,
    limits: Limits,
    loaded: Mutex<Option<Loaded>>,
    reached: Mutex<Reached>,
    /// Held while git looks for what reaches a commit.
    asking: Mutex<()>,
}

/// Where its files are.
#[derive(Clone, Debug)]
struct Places {
    base: PathBuf,
    git_dir: PathBuf,
    /// One that is fetched anew, until it is whole; and the one that it has
    /// replaced, until it is removed.
    fresh: PathBuf,
    old: PathBuf,
    snapshot: PathBuf,
    /// What the copy lists, as long as nobody changes it, see `news`.
    listed: PathBuf,
    failure: PathBuf,
    run: PathBuf,
    records: PathBuf,
    lock: PathBuf,
    promoted: PathBuf,
}

#[derive(Debug)]
struct Loaded {
    stamp: (Stamp, Option<Stamp>),
    snapshot: Arc<Snapshot>,
}

/// Changes when a file is replaced.
type Stamp = (u64, i64, i64);

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// Branches or tags are different.
    Changed,
    /// All is as before.
    Same,
}

/// How a remote is doing.
#[derive(Clone, Debug)]
pub struct Status {
    /// When it was last fetched with success.
    pub fetched: Option<SystemTime>,
    /// When an update last failed, if none has succeeded since, and why.
    pub failed: Option<(SystemTime, String)>,
}

impl Repository {
    /// The copy of a remote below `cachedir`; nothing is done yet.
    pub fn new(cachedir: &Path, remote: Remote, global_lock: bool) -> Self {
        let root = cachedir.join(remote.role.name());
        let base = root.join(remote.dir());
        Self {
            places: Places {
                git_dir: base.join("objects.git"),
                fresh: base.join("objects.new"),
                old: base.join("objects.old"),
                snapshot: base.join("snapshot"),
                listed: base.join("listed"),
                failure: base.join("failure"),
                run: base.join("run"),
                records: base.join("records"),
                lock: root.join("work").join(remote.dir()).join("_/update.lk"),
                promoted: root.join("work").join(remote.dir()).join("_/promoted"),
                base,
            },
            remote,
            global_lock,
            limits: Limits::default(),
            loaded: Mutex::default(),
            reached: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// The same with other limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The remote.
    pub const fn remote(&self) -> &Remote {
        &self.remote
    }

    /// What it has; `None` if it was never fetched.
    ///
    /// # Errors
    /// When its objects cannot be opened.
    pub fn snapshot(&self) -> Result<Option<Arc<Snapshot>>, GitError> {
        let Some(stamp) = stamp(&self.places.snapshot) else {
            *self.loaded() = None;
            return Ok(None);
        };
        let stamp = (stamp, self::stamp(&self.places.promoted));
        if let Some(loaded) = &*self.loaded()
            && loaded.stamp == stamp
        {
            return Ok(Some(Arc::clone(&loaded.snapshot)));
        }
        let Some(refs) = Refs::load(&self.places.snapshot) else {
            return Ok(None);
        };
        if !self.remote.verify_signatures.is_empty() {
            // One that was checked with other keys, or not at all, waits for the
            // next update.
            let signers = Signers::read(&self.remote.verify_signatures)?.mark();
            if refs.signers() != Some(signers.as_str()) {
                return Ok(None);
            }
        }
        let promotions = Promotions::load(&self.places.promoted)?;
        let snapshot = Arc::new(Snapshot::new(
            Objects::open(&self.places.git_dir)?,
            refs,
            promotions,
        ));
        *self.loaded() = Some(Loaded {
            stamp,
            snapshot: Arc::clone(&snapshot),
        });
        Ok(Some(snapshot))
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        let fetched = Refs::load(&self.places.snapshot);
        Status {
            fetched: fetched.map(|refs| UNIX_EPOCH + Duration::from_secs(refs.fetched_s())),
            failed: self.failure(),
        }
    }

    /// Sets the lock of updates and leaves it, until [`Self::unlock`] or the end
    /// of this process; whether it was free.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn lock(&self) -> Result<bool, GitError> {
        match self.take_lock()? {
            Taken::Here(lock) => {
                lock.keep();
                Ok(true)
            }
            Taken::Elsewhere(_) => Ok(false),
        }
    }

    /// Removes the lock of updates, whoever holds it; whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn unlock(&self) -> Result<bool, GitError> {
        match fs::remove_file(&self.places.lock) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(GitError::disk("removing its lock")(error)),
        }
    }

    /// Removes the copy; the next update fetches all of it.
    ///
    /// # Errors
    /// When somebody updates it, or it cannot be removed.
    pub fn clear(&self) -> Result<(), GitError> {
        let _lock = match self.take_lock()? {
            Taken::Here(lock) => lock,
            Taken::Elsewhere(holder) => {
                let holder = holder.to_string();
                return Err(GitError::Locked { holder });
            }
        };
        match fs::remove_dir_all(&self.places.base) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::disk("removing it")(error))
            }
            _ => Ok(()),
        }
    }

    /// The commit that a branch, a tag or an id names, which an environment may
    /// be held at.
    ///
    /// # Errors
    /// When there is none, or it is not reachable from a branch or tag.
    pub fn promotable(&self, name: &str) -> Result<Commit, GitError> {
        let none = || GitError::NoCommit {
            name: name.to_owned(),
        };
        let snapshot = self.snapshot()?.ok_or_else(none)?;
        let kinds = [RefType::Sha, RefType::Branch, RefType::Tag];
        let commit = snapshot.resolve(kinds, name)?.ok_or_else(none)?;
        match self.reaches(&snapshot, commit.id)? {
            true => Ok(commit),
            false => Err(none()),
        }
    }

    /// The same, and looks whether this environment may be held there.
    ///
    /// # Errors
    /// Also when the remote does not have the environment, or too many are held.
    pub fn promotable_in(&self, saltenv: &str, name: &str) -> Result<Commit, GitError> {
        let commit = self.promotable(name)?;
        // With these each environment that another remote has is here too.
        let has_all = self.remote.fallback.is_some() || self.remote.all_saltenvs.is_some();
        let snapshot = self.snapshot()?;
        let has_env = snapshot.is_some_and(|it| it.has_env(&self.remote, saltenv));
        if !has_env && !has_all {
            let saltenv = saltenv.to_owned();
            return Err(GitError::NoEnvironment { saltenv });
        }
        Promotions::load(&self.places.promoted)?.expect_room(saltenv)?;
        Ok(commit)
    }

    /// Holds an environment at a commit, or follows its branch again. Every
    /// process that has this copy serves it from then on.
    ///
    /// # Errors
    /// When the environment or the commit may not be, or the file cannot be
    /// written.
    pub fn promote(&self, saltenv: &str, commit: Option<&str>) -> Result<(), GitError> {
        let commit = commit.map(|name| self.promotable_in(saltenv, name));
        let commit = commit.transpose()?;
        Promotions::change(&self.places.promoted, |promotions| {
            promotions.set(saltenv, commit.map(|commit| commit.id))
        })
    }

    fn take_lock(&self) -> Result<Taken, GitError> {
        if let Some(dir) = self.places.lock.parent() {
            fs::create_dir_all(dir).map_err(GitError::disk("making the directory of its lock"))?;
        }
        Lock::take(&self.places.lock, self.global_lock).map_err(GitError::disk("taking its lock"))
    }

    /// When an update failed, and why.
    fn failure(&self) -> Option<(SystemTime, String)> {
        let bytes = read_limited(&self.places.failure, limits::LOCK_BYTES_MAX).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (time, why) = text.split_once('\n')?;
        let time = Duration::from_secs(time.parse().ok()?);
        Some((UNIX_EPOCH.checked_add(time)?, why.trim().to_owned()))
    }

    /// Keeps why an update failed, for all processes.
    fn note_failure(&self, error: Option<&GitError>) {
        let Some(error) = error else {
            fs::remove_file(&self.places.failure).ok();
            return;
        };
        let text = format!("{}\n{}", unix_seconds(), chain(error));
        // Whoever asked for the update gets the error itself.
        write_atomic(
            &self.places.failure,
            WriteOptions::new(0o600),
            text.as_bytes(),
        )
        .ok();
    }

    fn loaded(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    Some((data.ino(), data.mtime(), data.mtime_nsec()))
}
