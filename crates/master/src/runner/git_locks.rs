//! The locks of remotes, removed by hand, with Salt's words about it.
//!
//! Mirrors `clear_lock` of `salt/utils/gitfs.py` (3008.5). Invariant:
//! removing a lock that nobody has set is no error.

use halite_git::{Repository, machine};
use halite_proto::{Map, Value, chain};
use halite_target::glob::fnmatch;

/// What was done, and what could not be.
#[derive(Debug, Default)]
pub(super) struct Done {
    done: Vec<String>,
    errors: Vec<String>,
}

impl Done {
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

fn is_meant(repository: &Repository, pattern: Option<&str>) -> bool {
    pattern.is_none_or(|pattern| fnmatch(pattern, repository.remote().url.address()))
}
