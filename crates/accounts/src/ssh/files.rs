//! Keys in files: those that may sign in, those of the host and of users.

use std::fs;
use std::path::Path;

use halite_call::{Call, CallError, CallResult, os_error, paths, python};
use halite_proto::{Map, Value};

use crate::ssh::{self, Key};
use halite_call::host::accounts;

/// The keys of a file of the master.
fn fetched(call: &Call<'_>) -> Result<Option<Vec<Key>>, CallError> {
    let args = [call.arg("source").clone(), call.arg("saltenv").clone()];
    let path = call.salt("cp.cache_file", &args, Map::new())?;
    let Some(text) = path
        .as_str()
        .and_then(|path| paths::read_to_string(path).ok())
    else {
        return Ok(None);
    };
    Ok(Some(text.lines().filter_map(ssh::parse).collect()))
}

fn complain_of_none(call: &Call<'_>) {
    tracing::error!(
        "No keys detected in {}. Is file properly formatted?",
        call.text("source")
    );
}

/// The keys of the file; nothing if there are none in it.
fn needed(call: &Call<'_>) -> Result<Option<Vec<Key>>, CallError> {
    let keys = fetched(call)?
        .ok_or_else(|| CallError::command("Failed to pull key file from salt file server"))?;
    if keys.is_empty() {
        complain_of_none(call);
        return Ok(None);
    }
    Ok(Some(keys))
}

pub(crate) fn check_key_file(call: &Call<'_>) -> CallResult {
    let Some(keys) = fetched(call)? else {
        return Ok(Map::new().into());
    };
    if keys.is_empty() {
        complain_of_none(call);
    }
    let (user, config) = (call.text("user"), call.text("config"));
    let found = keys.iter().map(|key| {
        let status = ssh::check(call, &user, key, &config)?;
        Ok((key.key.as_str(), status))
    });
    Ok(found.collect::<Result<Map, CallError>>()?.into())
}

pub(crate) fn set_auth_key_from_file(call: &Call<'_>) -> CallResult {
    let Some(keys) = needed(call)? else {
        return Ok("fail".into());
    };
    let (user, config) = (call.text("user"), call.text("config"));
    let given = call
        .kwargs()
        .get("options")
        .filter(|options| options.is_true());
    let mut done = Vec::new();
    for mut key in keys {
        if let Some(options) = given {
            key.options = ssh::options_of(options);
        }
        done.push(ssh::set(call, &user, &key, &config)?);
    }
    let has = |what: &str| done.iter().any(|done| done.contains(what));
    let said = ["fail", "replace", "new"]
        .into_iter()
        .find(|what| has(what));
    Ok(said.unwrap_or("no change").into())
}

pub(crate) fn rm_auth_key_from_file(call: &Call<'_>) -> CallResult {
    let Some(keys) = needed(call)? else {
        return Ok("fail".into());
    };
    let (user, config) = (call.text("user"), call.text("config"));
    let mut done = Vec::new();
    for key in keys {
        done.push(ssh::remove(call, &user, &key.key, &config)?);
    }
    let has = |what: &str| done.iter().any(|done| done.contains(what));
    let said = ["Key not removed", "Key removed"].into_iter();
    let said = said.into_iter().find(|what| has(what));
    Ok(said.unwrap_or("Key not present").into())
}

pub(crate) fn host_keys(call: &Call<'_>) -> CallResult {
    let directory = call.text_opt("keydir");
    let directory = directory.unwrap_or_else(|| "/etc/ssh".to_owned());
    let entries =
        fs::read_dir(call.host().path(&directory)).map_err(|error| os_error(&error, &directory))?;
    let mut keys = Map::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let Some((kind, rest)) = name
            .strip_prefix("ssh_host_")
            .and_then(|name| name.rsplit_once("_key"))
        else {
            continue;
        };
        let suffix = ["-cert.pub", ".pub"]
            .into_iter()
            .find(|suffix| rest.starts_with(suffix));
        if suffix.is_none() && !call.flag("private")
            || suffix == Some("-cert.pub") && !call.flag("certs")
        {
            continue;
        }
        let text = paths::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        keys.insert(format!("{kind}{}", suffix.unwrap_or_default()), text);
    }
    Ok(keys.into())
}

pub(crate) fn key_is_encrypted(call: &Call<'_>) -> CallResult {
    let name = call.text("key");
    let text = paths::read_to_string(call.host().path(&name)).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "does not exist",
            std::io::ErrorKind::PermissionDenied => "cannot be read: permission denied",
            _ => "cannot be read",
        };
        CallError::command(format!("{name} {why}"))
    })?;
    let is_private = text.match_indices("BEGIN ").any(|(at, _)| {
        text.get(at..).is_some_and(|rest| {
            let line = rest.lines().next().unwrap_or_default();
            line.contains("PRIVATE KEY")
        })
    });
    if !is_private {
        return Err(CallError::command(format!("{name} is not a private key")));
    }
    Ok(text.contains("ENCRYPTED").into())
}

/// The names of keys that are looked for below a home.
fn names(call: &Call<'_>) -> Vec<String> {
    const KINDS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];
    let mut names = Vec::new();
    for (argument, suffix) in [("pubfile", ".pub"), ("prvfile", "")] {
        match call.arg(argument) {
            Value::Bool(false) => {}
            given if given.is_true() => names.push(python::str(given)),
            _ => names.extend(KINDS.map(|kind| format!("{kind}{suffix}"))),
        }
    }
    names
}

pub(crate) fn user_keys(call: &Call<'_>) -> CallResult {
    let users = match call.arg("user") {
        Value::List(users) => users.iter().map(python::str).collect(),
        given if given.is_true() => vec![python::str(given)],
        _ => python::texts(&call.salt("user.list_users", &[], Map::new())?),
    };
    let mut all = Map::new();
    for user in users {
        let Some(about) = accounts::user(call, &user) else {
            continue;
        };
        let mut keys = Map::new();
        for name in names(call) {
            let path = match name.starts_with('/') {
                true => name.clone(),
                false => format!("{}/.ssh/{name}", about.home),
            };
            let short = Path::new(&name)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            if let Ok(text) = paths::read_to_string(call.host().path(&path)) {
                keys.insert(short.as_ref(), text.trim());
            }
        }
        if !keys.is_empty() {
            all.insert(user, keys);
        }
    }
    Ok(all.into())
}
