//! Holding an environment of a git remote at a commit, on this master.

use std::sync::Arc;

use halite_git::Repository;
use halite_proto::SaltEnv;
use halite_proto::clear::Promotion;

use crate::error::chain;
use crate::files::Files;

/// The commit in place of one: the environment follows its branch again.
pub(crate) const LATEST: &str = "latest";

/// Checks whether this master can pin an environment to the commit, or does it; returns
/// the commit's id.
///
/// # Errors
/// With the reason, for people.
pub(crate) fn promote(files: &Files, promotion: &Promotion) -> Result<String, String> {
    let repository = repository(files, promotion.remote.as_deref())?;
    let remote = repository.remote();
    let told = |error: halite_git::GitError| format!("{remote}: {}", chain(&error));
    SaltEnv::parse(promotion.saltenv.as_str()).map_err(|error| error.to_string())?;
    if promotion.saltenv.contains(char::is_whitespace) {
        return Err(
            "an environment with a space in its name cannot be pinned to a commit".to_owned(),
        );
    }
    let commit = match promotion.commit.as_str() {
        LATEST => None,
        commit => {
            let saltenv = promotion.saltenv.as_str();
            let commit = repository.promotable_in(saltenv, commit).map_err(told)?;
            Some(commit.id.to_string())
        }
    };
    if promotion.sets {
        let saltenv = &promotion.saltenv;
        repository
            .promote(saltenv, commit.as_deref())
            .map_err(told)?;
        let commit = commit.as_deref().unwrap_or(LATEST);
        tracing::info!(%remote, saltenv, commit, "pinned an environment to a commit");
    }
    Ok(commit.unwrap_or_else(|| LATEST.to_owned()))
}

/// The remote of that name or address; without one, the only one.
fn repository(files: &Files, named: Option<&str>) -> Result<Arc<Repository>, String> {
    let mut all = files.server.repositories();
    let Some(named) = named else {
        return match (all.pop(), all.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(_), false) => Err("there are several remotes: name one with remote=".to_owned()),
            (None, _) => Err("this master has no gitfs remotes".to_owned()),
        };
    };
    let is_it = |repository: &Arc<Repository>| {
        let remote = repository.remote();
        remote.name.as_deref() == Some(named) || remote.id() == named
    };
    let found = all.into_iter().find(is_it);
    found.ok_or_else(|| format!("no remote of gitfs_remotes has the name or address {named:?}"))
}
