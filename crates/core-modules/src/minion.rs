//! `minion.*`: the minion's own process, and the keys of a master beside it.

use std::fs;

use halite_proto::{Map, Value};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;

use halite_call::{Call, CallError, CallResult, Function, Module, python, shlex};

pub(super) const MODULE: Module = Module {
    name: "minion",
    functions: &[
        Function::new(
            "minion.kill",
            "(timeout=15)",
            kill,
            "Ends the minion. What it has to return is still delivered.",
        ),
        Function::new(
            "minion.list",
            "()",
            list,
            "The keys that a master on this machine has accepted, rejected, denied, or\nthat wait.",
        ),
        Function::new(
            "minion.restart",
            "(systemd=True, win_service=True, schedule_retry=False, retry_delay=180)",
            restart,
            "Restarts the minion: with the option minion_restart_command, through\nsystemd, or with its own command line if it is a daemon.",
        ),
    ],
};

const KEY_DIRECTORIES: [&str; 4] = [
    "minions",
    "minions_pre",
    "minions_rejected",
    "minions_denied",
];

/// `EX_SOFTWARE`.
const FAILED: i64 = 70;

fn list(call: &Call<'_>) -> CallResult {
    let pki = call.opt_text("pki_dir").unwrap_or_default();
    let pki = std::path::PathBuf::from(pki.replace("minion", "master"));
    let keys = KEY_DIRECTORIES.into_iter().map(|directory| {
        let entries = fs::read_dir(pki.join(directory)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort_by_key(|name| name.to_lowercase());
        let names: Vec<Value> = names.into_iter().map(Value::from).collect();
        (directory, names)
    });
    Ok(keys.collect::<Map>().into())
}

/// The minion's process: this one, or the one that its pid file names.
fn daemon(call: &Call<'_>) -> Option<i32> {
    if call.job.jid().is_some() {
        return i32::try_from(std::process::id()).ok();
    }
    let file = call.opt_text("pidfile")?;
    let pid: i32 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    // The number may be another process's by now.
    name.starts_with("salt-minion").then_some(pid)
}

/// What came of ending the minion.
struct Killed {
    pid: Option<i32>,
    retcode: i64,
    comment: Vec<Value>,
}

fn end(call: &Call<'_>) -> Killed {
    let failed = |comment: &str| Killed {
        pid: None,
        retcode: FAILED,
        comment: vec![comment.into()],
    };
    let Some(pid) = daemon(call) else {
        return failed("Unable to find \"pid\" in grains");
    };
    match signal(Pid::from_raw(pid), Signal::SIGTERM) {
        Ok(()) => Killed {
            pid: Some(pid),
            retcode: 0,
            comment: Vec::new(),
        },
        Err(Errno::ESRCH) => failed("ps.kill_pid failed"),
        Err(error) => failed(&format!("ps.kill_pid failed: {error}")),
    }
}

fn kill(call: &Call<'_>) -> CallResult {
    call.int("timeout")?;
    let killed = end(call);
    let mut ret = Map::from([
        ("killed", Value::from(killed.pid)),
        ("retcode", killed.retcode.into()),
    ]);
    if !killed.comment.is_empty() {
        ret.insert("comment", killed.comment);
    }
    call.set_retcode(killed.retcode);
    Ok(ret.into())
}

fn restart(call: &Call<'_>) -> CallResult {
    let configured = call.salt("config.get", &["minion_restart_command".into()], Map::new())?;
    let mut comment: Vec<Value> = Vec::new();
    let mut ret = Map::from([
        ("killed", Value::Nil),
        ("restart", Map::new().into()),
        ("service_restart", Map::new().into()),
        ("retcode", 0.into()),
    ]);
    let arguments: Vec<String> = std::env::args().collect();
    let has_systemd = std::path::Path::new("/run/systemd/system").exists();
    let words = if configured.is_true() {
        comment.push("Using configuration minion_restart_command:".into());
        Some(match &configured {
            Value::List(words) => words.iter().map(python::str).collect(),
            text => shlex::split(&python::str(text))?,
        })
    } else if call.flag("systemd") && has_systemd {
        comment.push("Using systemctl to restart salt-minion".into());
        by_systemd(call, &mut ret, &mut comment)?;
        None
    } else if arguments.iter().any(|word| word == "-d") {
        comment.push("Restart using process argv:".into());
        Some(arguments)
    } else {
        comment.push("Not running in daemon mode - will not restart process after killing".into());
        Some(Vec::new())
    };
    if let Some(words) = words {
        comment.extend(words.iter().map(|word| Value::from(format!("    {word}"))));
        start_after(call, &words)?;
        let killed = end(call);
        ret.insert("killed", killed.pid);
        ret.insert("retcode", killed.retcode);
        let failed = killed.retcode != 0;
        comment.extend(killed.comment);
        if failed {
            comment.push("Kill failed - not restarting".into());
        }
    }
    ret.insert("comment", comment);
    let retcode = ret
        .get("retcode")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    call.set_retcode(retcode);
    Ok(ret.into())
}

/// Has the command run once this minion has ended: it cannot start it itself
/// then.
fn start_after(call: &Call<'_>, words: &[String]) -> Result<(), CallError> {
    let Some(pid) = daemon(call).filter(|_| !words.is_empty()) else {
        return Ok(());
    };
    let command: Vec<String> = words.iter().map(|word| shlex::quote(word)).collect();
    // A job's processes end with the minion; one of another session does not.
    let line = format!(
        "setsid sh -c {} </dev/null >/dev/null 2>&1 &",
        shlex::quote(&format!(
            "i=0; while kill -0 {pid} 2>/dev/null && [ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done; exec {}",
            command.join(" ")
        ))
    );
    let kwargs = Map::from([("python_shell", Value::from(true))]);
    call.salt("cmd.run_all", &[line.into()], kwargs)?;
    Ok(())
}

fn by_systemd(call: &Call<'_>, ret: &mut Map, comment: &mut Vec<Value>) -> Result<(), CallError> {
    let mut service = Map::new();
    if call.flag("schedule_retry") {
        let delay = call.int("retry_delay").map_err(|_| {
            CallError::command(format!(
                "Invalid retry_delay value: {}. Must be a number of seconds.",
                call.text("retry_delay")
            ))
        })?;
        let words = [
            "systemd-run".to_owned(),
            format!("--on-active={delay}"),
            "/bin/sh".to_owned(),
            "-c".to_owned(),
            "systemctl is-active salt-minion || systemctl start salt-minion".to_owned(),
        ];
        let words = Value::List(words.into_iter().map(Value::from).collect());
        let ran = call.salt(
            "cmd.run_all",
            &[words],
            Map::from([("python_shell", false)]),
        )?;
        let said = ran.get("stderr").cloned().unwrap_or_default();
        if ran.get("retcode").and_then(Value::as_i64) != Some(0) {
            comment.push("Adding scheduled retry failed".into());
            ret.insert(
                "service_restart",
                Map::from([("result", Value::from(false)), ("stderr", said)]),
            );
            ret.insert("retcode", FAILED);
            return Ok(());
        }
        let retry = Map::from([("detail", said), ("delay", delay.into())]);
        service.insert("schedule_retry", retry);
        comment.push(format!("Scheduled retry for minion restart in {delay} seconds").into());
    }
    let kwargs = Map::from([("no_block", true)]);
    match call.salt("service.restart", &["salt-minion".into()], kwargs) {
        Ok(result) => {
            service.insert("result", result);
            comment.push("Service restart successful".into());
        }
        Err(error) => {
            service.insert("result", false);
            service.insert("stderr", error.to_string());
            comment.push("Service restart failed".into());
            ret.insert("retcode", FAILED);
        }
    }
    ret.insert("service_restart", service);
    Ok(())
}
