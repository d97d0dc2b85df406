//! Which environments an update of a remote has moved to other commits.

use std::collections::BTreeSet;

use halite_git::{GitError, Remote, Repository, Snapshot, Updated};
use halite_proto::SaltEnv;

use crate::changes::{Changes, MovedEnvs};
use crate::limits::MOVED_ENVS_MAX;

impl Changes {
    /// Has `update` fetch a remote, and says what it has changed.
    ///
    /// # Errors
    /// Those of `update`.
    pub fn of_update(
        repository: &Repository,
        update: impl FnOnce(&Repository) -> Result<Updated, GitError>,
    ) -> Result<(Updated, Self), GitError> {
        let snapshot = || repository.snapshot().ok().flatten();
        let before = snapshot();
        let updated = update(repository)?;
        let mut changes = Self {
            is_different: Some(updated == Updated::Changed),
            ..Self::default()
        };
        if updated == Updated::Changed
            && let Some(after) = snapshot()
        {
            let remote = repository.remote();
            let moved = moved(remote, before.as_deref(), &after);
            changes.remotes.insert(remote.id(), moved);
        }
        Ok((updated, changes))
    }
}

/// The environments whose commit is another one, [`MOVED_ENVS_MAX`] at most.
fn moved(remote: &Remote, before: Option<&Snapshot>, after: &Snapshot) -> MovedEnvs {
    let commit = |snapshot: &Snapshot, env: &str| {
        let found = snapshot.commit(remote, env).ok().flatten();
        found.map(|commit| commit.id)
    };
    let envs = before.map(|before| before.envs(remote)).unwrap_or_default();
    let envs: BTreeSet<String> = envs.into_iter().chain(after.envs(remote)).collect();
    let served = envs
        .into_iter()
        .filter(|env| SaltEnv::parse(env.as_str()).is_ok());
    let moved = served.filter_map(|env| {
        let then = before.and_then(|before| commit(before, &env));
        let now = commit(after, &env);
        (then != now).then(|| (env, now.map(|id| id.to_string())))
    });
    moved.take(MOVED_ENVS_MAX).collect()
}
