//! The functions of `pkg` that are about repositories.

use halite_modules::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::apt::sources::Line;
use super::apt::{keys, repos};
use super::functions::arguments;
use super::provider::provider;
use super::rpm;

/// Whether repositories are apt's; an error where there are none.
pub(crate) fn is_apt(call: &Call<'_>) -> Result<bool, CallError> {
    match provider(call)?.name() {
        "apt" => Ok(true),
        "dnf" | "zypper" => Ok(false),
        _ => Err(CallError::command(
            "Repo management not implemented on this platform",
        )),
    }
}

pub(super) fn list_repos(call: &Call<'_>) -> CallResult {
    if is_apt(call)? {
        return Ok(repos::list_repos(call).into());
    }
    Ok(rpm::repos::list_repos(call)?.into())
}

pub(super) fn get_repo(call: &Call<'_>) -> CallResult {
    let repo = call.text("repo");
    if is_apt(call)? {
        let auth = call.get("ppa_auth").map(python::str);
        return Ok(repos::get_repo(call, &repo, auth.as_deref())?.into());
    }
    Ok(rpm::repos::get_repo(call, &repo)?.into())
}

pub(super) fn mod_repo(call: &Call<'_>) -> CallResult {
    let repo = call.text("repo");
    let kwargs = arguments(call, &["saltenv", "aptkey"]);
    if is_apt(call)? {
        return Ok(repos::mod_repo(call, &repo, &kwargs)?.into());
    }
    Ok(rpm::repos::mod_repo(call, &repo, &kwargs)?.into())
}

pub(super) fn del_repo(call: &Call<'_>) -> CallResult {
    let repo = call.text("repo");
    if is_apt(call)? {
        return Ok(repos::del_repo(call, &repo, &call.clean_kwargs())?.into());
    }
    Ok(rpm::repos::del_repo(call, &repo)?.into())
}

pub(super) fn add_repo_key(call: &Call<'_>) -> CallResult {
    is_apt(call)?;
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
