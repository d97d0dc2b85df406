//! The functions of `pkg` that are about repositories.

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::change::arguments;
use super::more::{APT, only};
use crate::pkg::apt::sources::Line;
use crate::pkg::apt::{keys, known_keys};
use crate::pkg::repositories::Repositories;

pub(super) fn list_repos(call: &Call<'_>) -> CallResult {
    Ok(Repositories::of(call)?.list(call).into())
}

pub(super) fn get_repo(call: &Call<'_>) -> CallResult {
    let repos = Repositories::of(call)?;
    let repo = call.text("repo");
    Ok(repos.get(call, &repo, &call.clean_kwargs())?.into())
}

pub(super) fn mod_repo(call: &Call<'_>) -> CallResult {
    let repos = Repositories::of(call)?;
    let kwargs = match repos {
        Repositories::Apt => arguments(call, &["saltenv", "aptkey"]),
        _ => call.clean_kwargs(),
    };
    Ok(repos.modify(call, &call.text("repo"), &kwargs)?.into())
}

pub(super) fn del_repo(call: &Call<'_>) -> CallResult {
    let repos = Repositories::of(call)?;
    let repo = call.text("repo");
    Ok(repos.delete(call, &repo, &call.clean_kwargs())?)
}

pub(super) fn add_repo_key(call: &Call<'_>) -> CallResult {
    if Repositories::of(call)? != Repositories::Apt {
        return Err(CallError::command("Only apt keeps keys of its own"));
    }
    let Some(path) = call.text_opt("path") else {
        let text = call.text_opt("text").ok_or_else(|| {
            CallError::wrong_type("add_repo_key() takes at least 1 argument (0 given)")
        })?;
        let mut args = Map::from([("key_text", Value::from(text))]);
        keys::of_repo(call, &Line::default(), &mut args, true)?;
        return Ok(true.into());
    };
    let args = [path.as_str().into(), call.arg("saltenv").clone()];
    let cached = call.salt("cp.cache_file", &args, Map::new())?;
    if !cached.is_true() {
        return Ok(false.into());
    }
    let directory = call.text_opt("keydir");
    let name = call.text_opt("keyfile");
    let cached = python::str(&cached);
    match keys::install(call, &cached, directory.as_deref(), name.as_deref()) {
        Ok(()) => Ok(true.into()),
        Err(error) => {
            tracing::error!(%error, "could not take over a key");
            Ok(false.into())
        }
    }
}

pub(super) fn get_repo_keys(call: &Call<'_>) -> CallResult {
    only(call, APT)?;
    let directory = call.text_opt("keydir");
    let keys = known_keys::list(call, call.flag("aptkey"), directory.as_deref())?;
    Ok(keys.map_or_else(|| false.into(), Value::from))
}

pub(super) fn del_repo_key(call: &Call<'_>) -> CallResult {
    only(call, APT)?;
    let id = known_keys::wanted(call, &call.clean_kwargs())?;
    let directory = call.text_opt("keydir");
    let aptkey = call.flag("aptkey");
    let is_gone = known_keys::delete(call, &python::str(&id), aptkey, directory.as_deref())?;
    Ok(if is_gone { id } else { false.into() })
}
