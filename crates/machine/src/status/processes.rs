//! Processes by user.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use halite_proto::{Map, Value};
use halite_target::pcre::Pcre;
use nix::unistd::{Uid, User};

use halite_call::host::run_quietly;
use halite_call::{Call, CallError, CallResult};

struct Process {
    pid: u32,
    uid: u32,
    command: String,
}

fn all() -> Vec<Process> {
    let mut found: Vec<Process> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let uid = entry.metadata().ok()?.uid();
            let path = entry.path();
            let bytes = fs::read(path.join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&bytes)
                .replace('\0', " ")
                .trim_end()
                .to_owned();
            let command = if line.is_empty() {
                // What has no command line belongs to the kernel.
                format!("[{}]", fs::read_to_string(path.join("comm")).ok()?.trim())
            } else {
                line
            };
            Some(Process { pid, uid, command })
        })
        .collect();
    found.sort_unstable_by_key(|process| process.pid);
    found
}

pub(super) fn procs(_: &Call<'_>) -> CallResult {
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let mut procs = Map::new();
    for process in all() {
        let user = names.entry(process.uid).or_insert_with(|| {
            User::from_uid(Uid::from_raw(process.uid))
                .ok()
                .flatten()
                .map_or_else(|| process.uid.to_string(), |user| user.name)
        });
        let entry = Map::from([
            ("user", Value::from(user.as_str())),
            ("cmd", process.command.into()),
        ]);
        procs.insert(process.pid.to_string(), entry);
    }
    Ok(procs.into())
}

pub(super) fn pid(call: &Call<'_>) -> CallResult {
    let pattern = Pcre::searching(&call.text("sig"))
        .map_err(|error| CallError::invocation(format!("not a regular expression: {error}")))?;
    let own = std::process::id();
    let pids: Vec<String> = all()
        .into_iter()
        .filter(|process| process.pid != own && pattern.is_in(&process.command).unwrap_or(false))
        .map(|process| process.pid.to_string())
        .collect();
    Ok(pids.join("\n").into())
}

pub(super) fn w(call: &Call<'_>) -> CallResult {
    let output = run_quietly(call, &["w", "-fh"])?
        .map(|ran| ran.stdout)
        .unwrap_or_default();
    let rows = output.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [user, tty, login, idle, jcpu, pcpu, what @ ..] = words.as_slice() else {
            return None;
        };
        Some(Value::from(Map::from([
            ("idle", Value::from(*idle)),
            ("jcpu", (*jcpu).into()),
            ("login", (*login).into()),
            ("pcpu", (*pcpu).into()),
            ("tty", (*tty).into()),
            ("user", (*user).into()),
            ("what", what.join(" ").into()),
        ])))
    });
    Ok(rows.collect::<Vec<_>>().into())
}
