//! `git_pillar.*`: fetches the repositories of pillars on request.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use halite_git::{Remote, Updated, all_at_once};
use halite_pillar::GitRemote;
use halite_proto::{Map, Value, chain};

use super::Call;
use super::error::{Ran, RunnerError};
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[Function::new(
    "git_pillar.update",
    "(branch=None, repo=None)",
    update,
    "Fetches the repositories that pillars come from, all or those of a branch or an address.",
)];

/// Each remote with whether it has something new: `None` if not, and `False`
/// if it could not be fetched.
fn update(call: &Call<'_>) -> Ran {
    let (branch, repo) = (wanted(call, "branch"), wanted(call, "repo"));
    let is_meant = |remote: &Remote| {
        let is_repo =
            |repo: &String| *repo == remote.url.address() || Some(repo) == remote.name.as_ref();
        branch
            .as_ref()
            .is_none_or(|branch| *branch == remote.branch)
            && repo.as_ref().is_none_or(is_repo)
    };
    let all = call.runners.pillars.git.all();
    let meant: Vec<Arc<GitRemote>> = all
        .filter(|fetched| is_meant(fetched.remote()))
        .cloned()
        .collect();
    if meant.is_empty() {
        let why = match branch.is_some() || repo.is_some() {
            true => "Specified git branch/repo not found in ext_pillar config",
            false => "No git_pillar remotes are configured",
        };
        return Err(RunnerError::Failed(why.to_owned()));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = call.stopping(&stop);
    let updated = all_at_once(&meant, |remote| remote.update(&stop));
    drop(stopping);
    call.stop.check()?;
    let mut told = Map::new();
    for (fetched, updated) in meant.iter().zip(updated) {
        let value = match updated {
            Ok(Updated::Changed) => Value::Bool(true),
            Ok(Updated::Same) => Value::Nil,
            Err(error) => {
                tracing::error!(remote = %fetched.remote(), "git_pillar.update: {}", chain(&error));
                Value::Bool(false)
            }
        };
        told.insert(fetched.remote().id(), value);
    }
    Ok(told.into())
}

/// An argument that may be left out.
fn wanted(call: &Call<'_>, name: &str) -> Option<String> {
    let value = call.arg(name);
    (!value.is_nil()).then(|| halite_proto::python::str(value))
}
