//! The file of the keys that may sign in as a user.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use halite_call::paths::{self, Held};
use halite_call::replace::{Dress, place_followed};
use halite_call::{Call, CallError, CallResult, is_one_line, os_error};
use halite_crypto::HashType;
use halite_proto::{Map, Value};

use super::key::{Key, fingerprint, is_key, kind, options_of, parse};
use halite_call::host::accounts;

/// The file of a user's keys.
fn file(call: &Call<'_>, user: &accounts::User, config: &str) -> PathBuf {
    let named = config
        .replace("%u", &user.name)
        .replace("%h", &user.home)
        .replace("%%", "%");
    let path = if named.starts_with('/') {
        PathBuf::from(named)
    } else {
        PathBuf::from(&user.home).join(named)
    };
    call.host().path(path)
}

fn keys(call: &Call<'_>, user: &accounts::User, config: &str) -> Result<Vec<Key>, CallError> {
    let text = text_of(&file(call, user, config))?;
    Ok(text.lines().filter_map(parse).collect())
}

/// `exists`, `update` or `add`.
pub(crate) fn check(
    call: &Call<'_>,
    user: &str,
    key: &Key,
    config: &str,
) -> Result<&'static str, CallError> {
    let keys = match accounts::user(call, user) {
        Some(user) => keys(call, &user, config)?,
        None => Vec::new(),
    };
    let found = keys.into_iter().find(|known| known.key == key.key);
    Ok(match found {
        None => "add",
        Some(known) if known.line() == key.line() => "exists",
        Some(_) => "update",
    })
}

fn failed(path: &Path, error: &io::Error) -> CallError {
    os_error(error, path)
}

/// The text of a user's file; empty if there is none.
fn text_of(path: &Path) -> Result<String, CallError> {
    match paths::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed(path, &error)),
    }
}

fn save(path: &Path, text: &str, dress: Dress) -> Result<(), CallError> {
    let write = |file: &mut fs::File| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    place_followed(path, dress, write)
        .map(drop)
        .map_err(|error| failed(path, &error))
}

/// The numbers of a user and their group; none in a directory that stands for
/// a machine.
fn owner(call: &Call<'_>, user: &accounts::User) -> (Option<u32>, Option<u32>) {
    let is_real = call.host().is_real();
    let id = |id: i64| u32::try_from(id).ok().filter(|_| is_real);
    (id(user.uid), id(user.gid))
}

/// Adds or changes a key; `new`, `replace`, `no change`, `fail` or `invalid`.
pub(crate) fn set(
    call: &Call<'_>,
    user: &str,
    key: &Key,
    config: &str,
) -> Result<&'static str, CallError> {
    if key.key.split_whitespace().count() > 1 || !is_one_line(key.line().trim_end()) {
        return Ok("invalid");
    }
    let Some(user) = accounts::user(call, user) else {
        return Ok("fail");
    };
    let path = file(call, &user, config);
    let text = text_of(&path)?;
    let known = text
        .lines()
        .filter_map(parse)
        .find(|known| known.key == key.key);
    if let Some(known) = known {
        if known.line() == key.line() {
            return Ok("no change");
        }
        let new: String = text
            .lines()
            .map(|line| match parse(line) {
                Some(known) if known.key == key.key => key.line(),
                _ => format!("{line}\n"),
            })
            .collect();
        save(&path, &new, Dress::kept(0o600))?;
        return Ok("replace");
    }
    if !is_key(&key.key) {
        return Ok("invalid");
    }
    let home = call.host().path(&user.home);
    if path.starts_with(&home) && !home.is_dir() {
        return Ok("fail");
    }
    let (uid, gid) = owner(call, &user);
    if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
        let give = |made: &Held| match made.path() == parent {
            true => made.chown(uid, gid).and_then(|()| made.set_mode(0o700)),
            false => Ok(()),
        };
        paths::create_dirs(parent, 0o777, give).map_err(|error| failed(parent, &error))?;
    }
    let is_new = !path.is_file();
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let line = match text.is_empty() {
        // The first one ends with what is before its remark, as Salt's does.
        true if key.comment.is_empty() => format!("{} \n", key.line().trim_end()),
        _ => key.line(),
    };
    let dress = match is_new {
        true => Dress {
            uid,
            gid,
            ..Dress::with_mode(0o600)
        },
        false => Dress::kept(0o600),
    };
    save(&path, &format!("{text}{end}{line}"), dress)?;
    Ok("new")
}

/// Removes a key; what is to be said about it.
pub(crate) fn remove(
    call: &Call<'_>,
    user: &str,
    key: &str,
    config: &str,
) -> Result<&'static str, CallError> {
    let Some(user) = accounts::user(call, user) else {
        return Ok("Key not present");
    };
    let path = file(call, &user, config);
    let text = text_of(&path)?;
    let is_it = |line: &&str| parse(line).is_some_and(|known| known.key == key);
    if !text.lines().any(|line| is_it(&line)) {
        return Ok("Key not present");
    }
    let new: String = text
        .split_inclusive('\n')
        .filter(|line| !is_it(&line.trim_end_matches('\n')))
        .collect();
    save(&path, &new, Dress::kept(0o600))?;
    Ok("Key removed")
}

fn key_of(call: &Call<'_>) -> Key {
    Key {
        key: call.text("key"),
        enc: kind(&call.text("enc")),
        comment: call.text_opt("comment").unwrap_or_default(),
        options: options_of(call.arg("options")),
    }
}

pub(super) fn check_key(call: &Call<'_>) -> CallResult {
    Ok(check(
        call,
        &call.text("user"),
        &key_of(call),
        &call.text("config"),
    )?
    .into())
}

pub(super) fn set_auth_key(call: &Call<'_>) -> CallResult {
    Ok(set(
        call,
        &call.text("user"),
        &key_of(call),
        &call.text("config"),
    )?
    .into())
}

pub(super) fn rm_auth_key(call: &Call<'_>) -> CallResult {
    Ok(remove(
        call,
        &call.text("user"),
        &call.text("key"),
        &call.text("config"),
    )?
    .into())
}

pub(super) fn auth_keys(call: &Call<'_>) -> CallResult {
    let Some(user) = accounts::user(call, &call.text("user")) else {
        return Ok(Map::new().into());
    };
    let all = keys(call, &user, &call.text("config"))?
        .into_iter()
        .map(|key| {
            let options = key.options.into_iter().map(Value::from).collect();
            let about = Map::from([
                ("enc", Value::from(key.enc)),
                ("comment", key.comment.into()),
                ("options", Value::List(options)),
                (
                    "fingerprint",
                    fingerprint(HashType::Sha256, &key.key).into(),
                ),
            ]);
            (key.key, about)
        });
    Ok(all.collect::<Map>().into())
}
