//! Copies of remotes that the options no longer name.
//!
//! Salt removes such copies at each update (`clear_old_remotes` of
//! `salt/utils/gitfs.py`, 3008.5). Here other masters may share the cache and use
//! other remotes, so only time tells. Invariant: a copy is kept if somebody has
//! used it within that time or holds its lock, or if it holds anything that is not
//! ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::lock::{Lock, Taken};
use crate::{GitError, Remote, Role};

/// What a copy consists of.
const PARTS: [&str; 9] = [
    "failure",
    "listed",
    "objects.git",
    "objects.init",
    "objects.new",
    "objects.old",
    "records",
    "run",
    "snapshot",
];

/// How a file begins that is being written.
const UNFINISHED: &str = ".tmp";

/// Removes the copies of remotes that are not among `named` and that nobody has updated,
/// or tried to, for `unused_for`; their directories, and what could not be removed.
pub fn remove_unused<'r>(
    cachedir: &Path,
    role: Role,
    named: impl IntoIterator<Item = &'r Remote>,
    unused_for: Duration,
) -> Vec<(String, Result<(), GitError>)> {
    let root = cachedir.join(role.name());
    let named: Vec<String> = named.into_iter().map(Remote::dir).collect();
    let mut removed = Vec::new();
    for entry in fs::read_dir(&root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name
            .to_str()
            .filter(|name| !named.iter().any(|it| it == name))
        else {
            continue;
        };
        let old = Old {
            base: entry.path(),
            lock: root.join("work").join(name).join("_/update.lk"),
        };
        // Whoever has an old one pays for a closer look.
        if old.is_unused(SystemTime::now(), unused_for) {
            match old.remove(unused_for) {
                Ok(true) => removed.push((name.to_owned(), Ok(()))),
                Ok(false) => {}
                Err(error) => {
                    let error = GitError::disk("removing it")(error);
                    removed.push((name.to_owned(), Err(error)));
                }
            }
        }
    }
    removed
}

/// A directory that may be the copy of a remote.
struct Old {
    base: PathBuf,
    lock: PathBuf,
}

impl Old {
    /// Whether it is a copy, and all that is in it is older than that.
    fn is_unused(&self, now: SystemTime, unused_for: Duration) -> bool {
        self.changed().is_some_and(|changed| {
            // What is of later is new: the clocks of two machines differ.
            let age = now.duration_since(changed).ok();
            age.is_some_and(|age| age >= unused_for)
        })
    }

    /// When something in it was last made or replaced; `None` if it is no copy, or
    /// holds something else as well.
    fn changed(&self) -> Option<SystemTime> {
        let data = fs::symlink_metadata(&self.base).ok()?;
        if !data.is_dir() {
            return None;
        }
        let mut newest = data.modified().ok()?;
        let mut is_empty = true;
        for entry in fs::read_dir(&self.base).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let name = name.to_str()?;
            if !PARTS.contains(&name) && !name.starts_with(UNFINISHED) {
                return None;
            }
            is_empty = false;
            newest = newest.max(entry.metadata().ok()?.modified().ok()?);
        }
        (!is_empty).then_some(newest)
    }

    /// Removes it below its lock; whether it was still unused then.
    fn remove(&self, unused_for: Duration) -> io::Result<bool> {
        if let Some(dir) = self.lock.parent() {
            fs::create_dir_all(dir)?;
        }
        // Also locks of other machines count here, whatever the option says.
        let Taken::Here(lock) = Lock::take(&self.lock, true)? else {
            return Ok(false);
        };
        if !self.is_unused(lock.taken()?, unused_for) {
            return Ok(false);
        }
        fs::remove_dir_all(&self.base).map(|()| true)
    }
}
