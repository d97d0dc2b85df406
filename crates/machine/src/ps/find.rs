//! Processes by their names, and signals to them.
//!
//! Invariant: no signal is sent under an artificial root, nor to the process that
//! asks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};

/// The name of a process, whole where the kernel cuts it, or its command line.
pub(super) fn words(place: &Path, full: bool) -> Option<String> {
    let bytes = fs::read(place.join("cmdline")).ok()?;
    let line = String::from_utf8_lossy(&bytes);
    let line: Vec<&str> = line.trim_end_matches('\0').split('\0').collect();
    if full {
        return Some(line.join(" "));
    }
    let name = fs::read_to_string(place.join("comm")).ok()?;
    let name = name.trim_end_matches('\n');
    let base = line.first()?.rsplit('/').next()?;
    let is_cut = name.len() >= 15 && base.starts_with(name);
    Some(if is_cut { base } else { name }.to_owned())
}

fn is_of(place: &Path, user: &str) -> bool {
    let Ok(uid) = place.metadata().map(|about| about.uid()) else {
        return false;
    };
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    found.map_or_else(|| uid.to_string(), |user| user.name) == user
}

/// The processes that match, lowest number first.
fn matching(call: &Call<'_>, is_it: impl Fn(&str) -> bool) -> Vec<i32> {
    let (user, full) = (call.text_opt("user"), call.flag("full"));
    let mut found: Vec<i32> = fs::read_dir(call.host().path("/proc"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let place = entry.path();
            let fits = is_it(&words(&place, full)?)
                && user.as_deref().is_none_or(|user| is_of(&place, user));
            fits.then_some(pid)
        })
        .collect();
    found.sort_unstable();
    found
}

fn listed(pids: &[i32]) -> Value {
    pids.iter()
        .map(|pid| Value::from(i64::from(*pid)))
        .collect::<Vec<_>>()
        .into()
}

pub(super) fn pgrep(call: &Call<'_>) -> CallResult {
    let pattern = call.text("pattern");
    let found = if call.flag("pattern_is_regex") {
        let pattern = Pcre::searching(&pattern)
            .map_err(|error| CallError::exception("error", error.to_string()))?;
        matching(call, |text| pattern.is_in(text).unwrap_or(false))
    } else {
        matching(call, |text| text.contains(&pattern))
    };
    Ok(if found.is_empty() {
        Value::Nil
    } else {
        listed(&found)
    })
}

pub(super) fn pkill(call: &Call<'_>) -> CallResult {
    let pattern = call.text("pattern");
    if pattern.is_empty() {
        // It is in every name.
        return Err(CallError::invocation("ps.pkill needs a pattern"));
    }
    let signal = signal(call)?;
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let is_real = call.host().is_real();
    let mut killed = Vec::new();
    for pid in matching(call, |text| text.contains(&pattern)) {
        if pid == own {
            continue;
        }
        if is_real {
            match kill(Pid::from_raw(pid), signal) {
                Ok(()) => {}
                Err(nix::errno::Errno::ESRCH) => continue,
                Err(error) => {
                    return Err(CallError::exception(
                        "AccessDenied",
                        format!("(pid={pid}): {error}"),
                    ));
                }
            }
        }
        killed.push(pid);
    }
    if killed.is_empty() {
        return Ok(Value::Nil);
    }
    Ok(Map::from([("killed", listed(&killed))]).into())
}

fn signal(call: &Call<'_>) -> Result<Signal, CallError> {
    i32::try_from(call.int("signal")?)
        .ok()
        .and_then(|number| Signal::try_from(number).ok())
        .ok_or_else(|| CallError::invocation(format!("no signal: {}", call.text("signal"))))
}

pub(super) fn kill_pid(call: &Call<'_>) -> CallResult {
    let pid = call.int("pid")?;
    let signal = signal(call)?;
    // 0 and numbers below mean groups of processes.
    let pid = i32::try_from(pid).unwrap_or_default();
    if pid < 1 {
        return Err(CallError::exception(
            "ValueError",
            format!("pid must be a positive integer (got {pid})"),
        ));
    }
    let place = call.host().path(format!("/proc/{pid}"));
    if !place.exists() {
        return Ok(false.into());
    }
    if !call.host().is_real() {
        return Ok(true.into());
    }
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) => Ok(true.into()),
        Err(nix::errno::Errno::ESRCH) => Ok(false.into()),
        Err(error) => Err(CallError::exception(
            "AccessDenied",
            format!("(pid={pid}): {error}"),
        )),
    }
}

/// All processes, lowest number first.
pub(super) fn pids(call: &Call<'_>) -> Vec<i32> {
    let mut found: Vec<i32> = fs::read_dir(call.host().path("/proc"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    found.sort_unstable();
    found
}

pub(super) fn get_pid_list(call: &Call<'_>) -> CallResult {
    Ok(listed(&pids(call)))
}

pub(super) fn status(call: &Call<'_>) -> CallResult {
    let wanted = call.text("status");
    if !call.flag("status") {
        return Err(CallError::invocation("Filter is required for ps.status"));
    }
    let mut found = Vec::new();
    for pid in pids(call) {
        let Some(process) = super::process::Process::of(call, pid) else {
            continue;
        };
        if process.status() == wanted {
            let name = process.name();
            let entry = Map::from([("pid", Value::from(pid)), ("name", name.into())]);
            found.push(entry.into());
        }
    }
    Ok(Value::List(found))
}
