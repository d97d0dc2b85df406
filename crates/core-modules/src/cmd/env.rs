//! The surroundings of a command: its directory and its environment.

use std::path::PathBuf;
use std::time::Duration;

use halite_process::child::{self, RunOptions};
use halite_process::privileges::User;
use halite_proto::Value;
use nix::unistd::AccessFlags;

use crate::limits::LOGIN_ENV_SECONDS_MAX;
use halite_call::{Call, CallError, python};

/// Set to `C`, so that output reads the same everywhere.
const LOCALE: &[&str] = &[
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
    "LANGUAGE",
];

/// Where the command runs: the directory asked for, else the home of its user,
/// or `/` where that cannot be entered.
pub(super) fn directory(asked: Option<&str>, user: Option<&User>) -> Result<PathBuf, CallError> {
    if let Some(asked) = asked {
        let path = match asked.strip_prefix('~') {
            Some("") => home(user),
            Some(rest) if rest.starts_with('/') => home(user).join(rest.trim_start_matches('/')),
            _ => PathBuf::from(asked),
        };
        if path.is_absolute() && path.is_dir() {
            return Ok(path);
        }
        return Err(CallError::command(format!(
            "Specified cwd '{asked}' either not absolute or does not exist"
        )));
    }
    let home = home(user);
    if home.is_dir() && nix::unistd::access(&home, AccessFlags::R_OK).is_ok() {
        Ok(home)
    } else {
        Ok(PathBuf::from("/"))
    }
}

fn home(user: Option<&User>) -> PathBuf {
    match user {
        Some(user) => user.home.clone(),
        None => std::env::home_dir().unwrap_or_else(|| PathBuf::from("/")),
    }
}

/// The whole environment of the command.
pub(super) fn variables(
    call: &Call<'_>,
    user: Option<&User>,
    shell: &str,
) -> Result<Vec<(String, String)>, CallError> {
    let get = |name: &str| call.get(name).unwrap_or(&Value::Nil);
    let mut env = given(get("env"));
    if call.get("reset_system_locale").is_none_or(Value::is_true) {
        for name in LOCALE {
            if !env.iter().any(|(known, _)| known == name) {
                env.push(((*name).to_owned(), "C".to_owned()));
            }
        }
    }
    let mut all: Vec<(String, String)> = Vec::new();
    let is_clean = get("clean_env").is_true();
    match user {
        None if is_clean => {}
        None => all.extend(call.job.env.all()),
        Some(user) => {
            // The environment of the minion, or of root who calls `salt-call`,
            // may hold secrets and addresses of sockets: it is not for others.
            if !is_clean {
                all.extend(call.job.env.for_other_users());
            }
            overlay(&mut all, of_login(user, shell));
        }
    }
    overlay(&mut all, env);
    if let Some(first) = Some(get("prepend_path")).filter(|value| value.is_true()) {
        let path = all
            .iter()
            .find(|(name, _)| name == "PATH")
            .map_or_else(String::new, |(_, path)| format!(":{path}"));
        let path = format!("{}{path}", python::str(first));
        overlay(&mut all, vec![("PATH".to_owned(), path)]);
    }
    Ok(all)
}

fn overlay(all: &mut Vec<(String, String)>, more: Vec<(String, String)>) {
    for (name, value) in more {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => all.push((name, value)),
        }
    }
}

/// Variables from a map, or from a list of maps.
fn given(env: &Value) -> Vec<(String, String)> {
    let maps: Vec<_> = match env {
        Value::Map(map) => vec![map],
        Value::List(items) => items.iter().filter_map(Value::as_map).collect(),
        _ => Vec::new(),
    };
    let mut variables = Vec::new();
    for (name, value) in maps.into_iter().flatten() {
        let value = match value {
            Value::Nil => String::new(),
            value => python::str(value),
        };
        // The system has no way to hold these; a command must not fail to
        // start for them.
        let name = python::str(name);
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            tracing::error!("Environment variable '{name}' cannot be set");
            continue;
        }
        overlay(&mut variables, vec![(name, value)]);
    }
    variables
}

/// What a login of `user` sets, profile files included; where that cannot be
/// found out, what every login sets.
fn of_login(user: &User, shell: &str) -> Vec<(String, String)> {
    let mut env = vec![
        ("HOME".to_owned(), user.home.display().to_string()),
        ("USER".to_owned(), user.name.clone()),
        ("LOGNAME".to_owned(), user.name.clone()),
    ];
    match ask_login(user, shell) {
        Ok(found) => overlay(&mut env, found),
        Err(why) => tracing::debug!(user = user.name, why, "no login environment"),
    }
    env
}

fn ask_login(user: &User, shell: &str) -> Result<Vec<(String, String)>, String> {
    // Profile files may write what they like around it.
    const MARK: &str = "--halite-login-env--";
    if !halite_process::privileges::is_root() {
        return Err("only root can become another user".to_owned());
    }
    let mut command = child::command("su");
    command
        .args(["-s", shell, "-", &user.name, "-c"])
        .arg(format!("printf %s {MARK}; env -0; printf %s {MARK}"))
        .current_dir("/");
    let options = RunOptions {
        timeout: Some(Duration::from_secs(LOGIN_ENV_SECONDS_MAX)),
        // The user's profile files run in it.
        own_session: true,
        ..RunOptions::default()
    };
    let done = child::run(command, options, |_| ()).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&done.stdout);
    let between = text.split(MARK).nth(1).ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&done.stderr);
        format!("su said: {}", complaint.trim())
    })?;
    Ok(between
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| !matches!(*name, "_" | "SHLVL" | "PWD" | "OLDPWD"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}
