//! States of keys that may sign in.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, paths, python};
use halite_proto::{Map, Value};

use crate::ssh::{self, Key};

/// Who may sign in; other names are let through, as Salt does.
const PRESENT: &str = "(name, user, enc='ssh-rsa', comment='', source='', options=None, config='.ssh/authorized_keys', fingerprint_hash_type=None, **kwargs)";

pub(crate) const MODULE: Module = Module {
    name: "ssh_auth",
    functions: &[
        Function::new(
            "ssh_auth.absent",
            "(name, user, enc='ssh-rsa', comment='', source='', options=None, config='.ssh/authorized_keys', fingerprint_hash_type=None)",
            absent,
            "A key may not sign in as a user.",
        ),
        Function::new(
            "ssh_auth.manage",
            "(name, ssh_keys, user, enc='ssh-rsa', comment='', source='', options=None, config='.ssh/authorized_keys', fingerprint_hash_type=None, **kwargs)",
            manage,
            "These keys, and no others, may sign in as a user.",
        ),
        Function::new(
            "ssh_auth.present",
            PRESENT,
            present,
            "A key may sign in as a user.",
        ),
    ],
};

/// The key that a text means: a whole line, or a key and a comment.
fn read(call: &Call<'_>, text: &str) -> Key {
    let mut key = Key {
        key: String::new(),
        enc: ssh::kind(&call.text("enc")),
        comment: call.text_opt("comment").unwrap_or_default(),
        options: ssh::options_of(call.arg("options")),
    };
    match ssh::split_line(text) {
        Some((before, rest)) => {
            if !before.is_empty() {
                key.options = before.split(',').map(str::to_owned).collect();
            }
            let mut words = rest.splitn(3, char::is_whitespace);
            key.enc = words.next().unwrap_or_default().to_owned();
            key.key = words.next().unwrap_or_default().trim().to_owned();
            if let Some(comment) = words.next() {
                key.comment = comment.trim_start().to_owned();
            }
        }
        None => {
            let mut words = text.trim().splitn(2, char::is_whitespace);
            key.key = words.next().unwrap_or_default().to_owned();
            if let Some(comment) = words.next() {
                key.comment = comment.trim().to_owned();
            }
        }
    }
    key
}

/// The keys of a source, or of the name.
fn wanted(call: &Call<'_>, name: &str) -> Result<Option<Vec<Key>>, CallError> {
    let Some(source) = call.text_opt("source") else {
        return Ok(Some(vec![read(call, name)]));
    };
    let env = call
        .job
        .state
        .as_ref()
        .and_then(|state| state.low.get("__env__").cloned());
    let args = [source.as_str().into(), env.unwrap_or_else(|| "base".into())];
    let cached = call.salt("cp.cache_file", &args, Map::new())?;
    if !cached.is_true() {
        return Ok(None);
    }
    let text = paths::read_to_string(python::str(&cached)).unwrap_or_default();
    Ok(Some(text.lines().filter_map(ssh::parse).collect()))
}

fn present(call: &Call<'_>) -> CallResult {
    Ok(add(call, &call.text("name"))?.into())
}

fn add(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let (user, config) = (call.text("user"), call.text("config"));
    let source = call.text("source");
    let from_file = !source.is_empty();
    let Some(keys) = wanted(call, name)? else {
        return Ok(StateReturn::new(name).failed(format!(
            "Failed to add the ssh key. Source file {source} is missing"
        )));
    };
    let shown = match keys.first() {
        Some(key) if !from_file => key.key.clone(),
        _ => name.to_owned(),
    };
    let mut state = StateReturn::new(name);
    if call.is_test() {
        return predict(call, state, &keys, &user, &config, from_file);
    }
    let mut outcome = "no change";
    for key in &keys {
        match ssh::set(call, &user, key, &config)? {
            "no change" => {}
            bad @ ("fail" | "invalid") => {
                outcome = bad;
                break;
            }
            done => outcome = done,
        }
    }
    if from_file && keys.is_empty() {
        outcome = "fail";
    }
    Ok(match outcome {
        "replace" => {
            state.changes.insert(shown.as_str(), "Updated");
            state.ok(format!("The authorized host key {shown} for user {user} was updated"))
        }
        "new" => {
            state.changes.insert(shown.as_str(), "New");
            state.ok(format!("The authorized host key {shown} for user {user} was added"))
        }
        "no change" => state.ok(format!(
            "The authorized host key {shown} is already present for user {user}"
        )),
        "fail" => state.failed(
            "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?",
        ),
        _ => state.failed("Invalid public ssh key, most likely has spaces or invalid syntax"),
    })
}

fn predict(
    call: &Call<'_>,
    state: StateReturn,
    keys: &[Key],
    user: &str,
    config: &str,
    from_file: bool,
) -> Result<StateReturn, CallError> {
    let mut checked = Vec::new();
    for key in keys {
        checked.push((key, ssh::check(call, user, key, config)?));
    }
    if from_file {
        let text: String = checked
            .iter()
            .filter(|(_, status)| *status != "exists")
            .map(|(key, status)| format!("Set to {status}: {}\n", key.key))
            .collect();
        return Ok(if text.is_empty() {
            let source = call.text("source");
            state.ok(format!(
                "All host keys in file {source} are already present"
            ))
        } else {
            state.pending(text)
        });
    }
    if let Some((key, status)) = checked.first() {
        let key = &key.key;
        return Ok(match *status {
            "exists" => state.ok(format!(
                "The authorized host key {key} is already present for user {user}"
            )),
            "update" => state.pending(format!("Key {key} for user {user} is set to be updated")),
            _ => state.pending(format!("Key {key} for user {user} is set to be added")),
        });
    }
    Ok(state)
}

fn absent(call: &Call<'_>) -> CallResult {
    Ok(delete(call, &call.text("name"))?.into())
}

fn delete(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let (user, config) = (call.text("user"), call.text("config"));
    let mut state = StateReturn::new(name);
    let Some(keys) = wanted(call, name)? else {
        return Ok(state.failed("User authorized keys file not present"));
    };
    if call.is_test() {
        let mut there = None;
        for key in &keys {
            if there.is_none() && ssh::check(call, &user, key, &config)? != "add" {
                there = Some(key);
            }
        }
        return Ok(match there {
            Some(key) => state.pending(format!(
                "Key {} for user {user} is set for removal",
                key.key
            )),
            None => state.ok("Key is already absent"),
        });
    }
    let mut said = "Key not present";
    for key in &keys {
        if ssh::remove(call, &user, &key.key, &config)? == "Key removed" {
            said = "Key removed";
            state.changes.insert(key.key.as_str(), "Removed");
        }
    }
    Ok(state.ok(said))
}

fn manage(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::new("");
    let wanted: Vec<String> = python::texts(call.arg("ssh_keys"));
    let words: Vec<&str> = wanted.iter().flat_map(|line| line.split(' ')).collect();
    let mut kwargs = Map::from([("user", call.arg("user").clone())]);
    kwargs.insert("config", call.arg("config").clone());
    let has = call.salt("ssh.auth_keys", &[], kwargs)?;
    let surplus: Vec<String> = has
        .as_map()
        .into_iter()
        .flat_map(|keys| keys.keys().map(python::str))
        .filter(|key| !words.contains(&key.as_str()))
        .collect();
    let mut comment = String::new();
    for key in surplus {
        let said = if call.is_test() {
            comment = format!("{key} Key set for removal");
            state.result = None;
            comment.clone()
        } else {
            python::str(&delete(call, &key)?.comment)
        };
        state.changes.insert(key, said);
    }
    for line in &wanted {
        let done = add(call, line)?;
        if done.changes.is_empty() {
            comment = format!("{comment}\n{}", python::str(&done.comment))
                .trim()
                .to_owned();
        }
        state.changes.extend(done.changes);
        match done.result {
            None => state.result = None,
            Some(false) => state.result = Some(false),
            Some(true) => {}
        }
    }
    state.comment = Value::Str(comment);
    Ok(state.into())
}
