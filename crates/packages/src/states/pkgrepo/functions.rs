//! The states, and how a repository is configured.

use halite_call::{Call, CallResult, Function, Module, StateReturn, host, os_error, python};
use halite_proto::{Map, Value};

use crate::pkg::apt::repos;
use crate::pkg::error::PkgError;
use crate::pkg::repositories::Repositories;

use super::compare::{has_stale_lines, is_same};
use super::repository::{Repo, family, read};

pub(crate) const MODULE: Module = Module {
    name: "pkgrepo",
    functions: &[
        Function::new(
            "pkgrepo.absent",
            "(name, **kwargs)",
            absent,
            "A repository is not set up.",
        ),
        Function::new(
            "pkgrepo.managed",
            "(name, ppa=None, copr=None, aptkey=True, **kwargs)",
            managed,
            "A repository is set up, with its key.",
        ),
    ],
};

fn managed(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    state.result = None;
    let of = match Repositories::of(call) {
        Ok(of) => of,
        Err(error) => return Ok(state.failed(error.to_string()).into()),
    };
    let repo = match read(call, of, &mut state) {
        Ok(repo) => repo,
        Err(comment) => return Ok(state.failed(comment).into()),
    };
    let pre = match repo.get(call) {
        Ok(pre) => pre,
        Err(error) => {
            return Ok(state
                .failed(format!("Failed to examine repo '{}': {error}", repo.name))
                .into());
        }
    };
    let mut wanted = if repo.apt {
        repos::expand(call, &repo.repo, &repo.kwargs)?
    } else {
        repo.kwargs.clone()
    };
    let mut pre = pre;
    if !pre.is_empty() && !has_stale_lines(call, &repo) {
        pre.remove("file");
        wanted.remove("file");
        if is_same(&repo, &wanted, &pre) {
            return Ok(state
                .ok(format!("Package repo '{}' already configured", repo.name))
                .into());
        }
    }
    if call.is_test() {
        return Ok(predict(state, &repo, &wanted, &pre).into());
    }
    Ok(carry_out(call, state, &repo, &wanted, &pre).into())
}

fn predict(state: StateReturn, repo: &Repo, wanted: &Map, pre: &Map) -> StateReturn {
    let wrong = state.result == Some(false);
    let mut state = state.pending(format!(
        "Package repo '{}' would be configured. This may cause pkg states to behave differently \
         than stated if this action is repeated without test=True, due to the differences in the \
         configured repositories.",
        repo.name
    ));
    if wrong {
        state.result = Some(false);
    }
    if pre.is_empty() {
        state.changes.insert("repo", repo.name.as_str());
        return state;
    }
    for (key, value) in wanted {
        let old = pre.get_value(key);
        if old != Some(value) {
            let change = Map::from([
                ("new", value.clone()),
                ("old", old.cloned().unwrap_or_default()),
            ]);
            state.changes.insert(key.clone(), change);
        }
    }
    state
}

fn carry_out(
    call: &Call<'_>,
    mut state: StateReturn,
    repo: &Repo,
    wanted: &Map,
    pre: &Map,
) -> StateReturn {
    if let Err(error) = configure(call, repo, wanted, pre) {
        return state.failed(format!("Failed to configure repo '{}': {error}", repo.name));
    }
    let post = match repo.get(call) {
        Ok(post) => post,
        Err(error) => {
            return state.failed(format!(
                "Failed to confirm config of repo '{}': {error}",
                repo.name
            ));
        }
    };
    if pre.is_empty() {
        state.changes.insert("repo", repo.repo.as_str());
    } else {
        for key in wanted.keys() {
            let (old, new) = (pre.get_value(key), post.get_value(key));
            if old != new {
                let change = Map::from([
                    ("new", new.cloned().unwrap_or_default()),
                    ("old", old.cloned().unwrap_or_default()),
                ]);
                state.changes.insert(key.clone(), change);
            }
        }
    }
    state.ok(format!("Configured package repo '{}'", repo.name))
}

fn configure(call: &Call<'_>, repo: &Repo, wanted: &Map, pre: &Map) -> Result<(), PkgError> {
    let mut kwargs = repo.kwargs.clone();
    if kwargs.get("clean_file").is_some_and(Value::is_true)
        && let Some(file) = kwargs.get("file").map(python::str)
    {
        host::replace_file(&call.host().path(&file), b"")
            .map_err(|error| PkgError::from(os_error(&error, &file)))?;
    }
    if !repo.apt {
        repo.of.modify(call, &repo.repo, &kwargs)?;
        return Ok(());
    }
    if let (Some(new), Some(old)) = (wanted.get("uri"), pre.get("uri"))
        && new != old
        && !kwargs.contains_key("uri")
    {
        kwargs.insert("uri", new.clone());
    }
    kwargs.insert("aptkey", call.arg("aptkey").clone());
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned());
    kwargs.insert("saltenv", env.unwrap_or_else(|| "base".into()));
    repos::mod_repo(call, &repo.repo, &kwargs)?;
    Ok(())
}

/// The line with its place as apt compares it.
fn without_slash(repo: &str) -> String {
    repo.split_whitespace()
        .map(|word| {
            let is_place = ["http://", "https://", "ftp://"]
                .iter()
                .any(|scheme| word.starts_with(scheme));
            if is_place {
                word.trim_end_matches('/')
            } else {
                word
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn absent(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let kwargs = call.clean_kwargs();
    let of = Repositories::of(call)?;
    let apt = of == Repositories::Apt;
    let mut name = call.text("name");
    let grains = call.ctx.grains();
    let os = grains.get("os").map(python::str).unwrap_or_default();
    if let Some(ppa) = kwargs.get("ppa").map(python::str)
        && ["Ubuntu", "Mint"].contains(&os.as_str())
    {
        name = format!("ppa:{}", ppa.trim_start_matches("ppa:"));
    }
    if let Some(copr) = kwargs.get("copr").map(python::str)
        && family(call) == "RedHat"
    {
        name = format!("copr:{}", copr.trim_start_matches("copr:"));
    }
    state.name = name.as_str().into();
    let repo = Repo {
        repo: if apt {
            without_slash(&name)
        } else {
            name.clone()
        },
        name: name.clone(),
        of,
        apt,
        family: family(call),
        kwargs: kwargs.clone(),
    };
    let found = match repo.get(call) {
        Ok(found) => found,
        Err(error) => {
            return Ok(state
                .failed(format!("Failed to configure repo '{name}': {error}"))
                .into());
        }
    };
    let mut is_there = !found.is_empty();
    if apt && is_there {
        let mut wanted = repos::architectures(&repo.repo)?;
        let mut has = found
            .get("architectures")
            .map(python::texts)
            .unwrap_or_default();
        wanted.sort();
        has.sort();
        is_there = wanted == has;
    }
    if !is_there {
        return Ok(state.ok(format!("Package repo {name} is absent")).into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!(
                "Package repo '{name}' will be removed. This may cause pkg states to behave \
                 differently than stated if this action is repeated without test=True, due to \
                 the differences in the configured repositories."
            ))
            .into());
    }
    if let Err(error) = of.delete(call, &repo.repo, &kwargs) {
        return Ok(state.failed(error.to_string()).into());
    }
    let left = if apt { Map::new() } else { of.list(call) };
    if left.contains_key(&repo.repo) {
        return Ok(state.failed(format!("Failed to remove repo {name}")).into());
    }
    state.changes.insert("repo", name.as_str());
    Ok(state.ok(format!("Removed repo {name}")).into())
}
