//! Fetches remotes: all at once on request, or those whose interval is over, if
//! nobody else does it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use halite_git::{GitError, Repository, all_at_once};
use halite_proto::chain;
use tracing::error;

use crate::changes::Changes;

/// Fetches remotes, each in a thread of its own. What fails is logged.
pub(super) fn update_all(repositories: &[Arc<Repository>], stop: &Arc<AtomicBool>) -> Changes {
    let updated = all_at_once(repositories, |repository| {
        let updated = Changes::of_update(repository, |it| it.update_behind_others(stop));
        updated.inspect_err(|failed| {
            if !matches!(failed, GitError::Stopped) {
                let remote = repository.remote();
                error!(%remote, "gitfs: could not update a git remote: {}", chain(failed));
            }
        })
    });
    let mut all = Changes {
        is_different: Some(false),
        ..Changes::default()
    };
    for (_, changes) in updated.into_iter().flatten() {
        all.extend(changes);
    }
    all
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
