//! Fetching remotes: all at once when somebody asks for it, or those whose
//! interval is over, where nobody else does it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use halite_git::limits::UPDATES_AT_ONCE;
use halite_git::{GitError, Repository, Updated};
use halite_proto::chain;
use tracing::error;

/// Fetches remotes, each in a thread of its own; whether one has changed. What
/// fails is logged.
pub(super) fn update_all(repositories: &[Arc<Repository>], stop: &Arc<AtomicBool>) -> bool {
    let changed = AtomicBool::new(false);
    for some in repositories.chunks(UPDATES_AT_ONCE) {
        thread::scope(|scope| {
            for repository in some {
                scope.spawn(|| match repository.update_behind_others(stop) {
                    Ok(Updated::Changed) => changed.store(true, Ordering::Relaxed),
                    Ok(Updated::Same) | Err(GitError::Stopped) => {}
                    Err(failed) => {
                        let remote = repository.remote();
                        error!(%remote, "could not update a git remote: {}", chain(&failed));
                    }
                });
            }
        });
    }
    changed.into_inner()
}

/// When remotes were last fetched by this process.
#[derive(Debug, Default)]
pub(super) struct Fetching(Mutex<Option<Instant>>);

impl Fetching {
    /// Fetches all remotes the first time, later those whose interval is over.
    pub(super) fn update_due(&self, repositories: &[Arc<Repository>]) {
        // Held meanwhile: who comes then waits for the same.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shortest = repositories
            .iter()
            .map(|it| it.remote().update_interval)
            .min();
        let Some(shortest) = shortest else { return };
        if last.is_some_and(|last| last.elapsed() < shortest) {
            return;
        }
        let is_first = last.is_none();
        let is_due = |it: &&Arc<Repository>| {
            let age = it
                .status()
                .fetched
                .map(|then| SystemTime::now().duration_since(then));
            let interval = it.remote().update_interval;
            is_first || !age.is_some_and(|age| age.is_ok_and(|age| age < interval))
        };
        let due: Vec<_> = repositories.iter().filter(is_due).cloned().collect();
        update_all(&due, &Arc::default());
        *last = Some(Instant::now());
    }
}
