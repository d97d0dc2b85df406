//! Manual handling of the copies of remotes and their locks, with Salt's texts.
//!
//! Mirrors `lock` and `clear_lock` of `salt/utils/gitfs.py` (3008.5). Invariant:
//! removing a lock that does not exist is no error.

use halite_git::{GitError, Repository, machine};
use halite_proto::{Map, Value, chain};
use halite_target::glob::fnmatch;

/// The text when there was no lock.
pub(super) const NONE_REMOVED: &str = "No locks were removed";

/// What was done, and what failed.
#[derive(Debug, Default)]
pub(super) struct Done {
    done: Vec<String>,
    errors: Vec<String>,
}

impl Done {
    /// Adds copies of remotes that no option names, which were removed or could not be.
    pub(super) fn add_unused(&mut self, unused: Vec<(String, Result<(), GitError>)>) {
        for (dir, removed) in unused {
            match removed {
                Ok(()) => self
                    .done
                    .push(format!("Removed {dir}, which no option names")),
                Err(error) => self
                    .errors
                    .push(format!("Unable to remove {dir}: {}", chain(&error))),
            }
        }
    }

    /// As Salt returns it: what was done under `name`, or `nothing`.
    pub(super) fn into_value(self, name: &str, nothing: &str) -> Value {
        let mut told = Map::new();
        for (name, texts) in [(name, self.done), ("errors", self.errors)] {
            if !texts.is_empty() {
                let texts = texts.into_iter().map(Value::from);
                told.insert(name, texts.collect::<Vec<_>>());
            }
        }
        match told.is_empty() {
            true => nothing.into(),
            false => told.into(),
        }
    }
}

/// Removes the fetched copies, and reports it once.
pub(super) fn clear<'a>(repositories: impl Iterator<Item = &'a Repository>) -> Done {
    let mut done = Done::default();
    let mut is_any = false;
    for repository in repositories {
        is_any = true;
        if let Err(error) = repository.clear() {
            let remote = repository.remote();
            done.errors
                .push(format!("Unable to clear {remote}: {}", chain(&error)));
        }
    }
    if is_any && done.errors.is_empty() {
        done.done
            .push("The gitfs fileserver cache was successfully cleared".to_owned());
    }
    done
}

/// Removes the locks of updates of those remotes whose address fits `pattern`.
pub(super) fn unlock<'a>(
    repositories: impl Iterator<Item = &'a Repository>,
    pattern: Option<&str>,
) -> Done {
    let mut done = Done::default();
    for repository in repositories.filter(|repository| is_meant(repository, pattern)) {
        let remote = repository.remote();
        match repository.unlock() {
            Ok(true) => done.done.push(format!(
                "Removed update lock for {} remote '{remote}' on machine_id '{}'",
                remote.role.name(),
                machine()
            )),
            Ok(false) => {}
            Err(error) => done.errors.push(format!(
                "Unable to remove update lock for {}: {}",
                remote.url,
                chain(&error)
            )),
        }
    }
    done
}

/// Sets them; they stay until they are removed.
pub(super) fn lock<'a>(
    repositories: impl Iterator<Item = &'a Repository>,
    pattern: Option<&str>,
) -> Done {
    let mut done = Done::default();
    for repository in repositories.filter(|repository| is_meant(repository, pattern)) {
        let remote = repository.remote();
        match repository.lock() {
            Ok(true) => done.done.push(format!(
                "Set update lock for {} remote '{remote}' on machine_id '{}'",
                remote.role.name(),
                machine()
            )),
            Ok(false) => {}
            Err(error) => done.errors.push(format!(
                "Unable to set update lock for {remote}: {}",
                chain(&error)
            )),
        }
    }
    done
}

fn is_meant(repository: &Repository, pattern: Option<&str>) -> bool {
    pattern.is_none_or(|pattern| fnmatch(pattern, repository.remote().url.address()))
}
