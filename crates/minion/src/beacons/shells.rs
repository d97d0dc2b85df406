//! The beacon `sh`: commands started from shells, as `strace` reports them.

use std::collections::{BTreeMap, BTreeSet};

use halite_call::{Call, python};
use halite_proto::{Map, Value};
use tracing::warn;

use super::follow::{Follow, Output};
use super::{Beacon, BeaconError};
use crate::core::beacons::Settings;
use crate::limits::BEACON_SHELLS_MAX;

/// A shell that is watched.
struct Shell {
    user: Value,
    trace: Follow,
}

#[derive(Default)]
pub(super) struct Shells {
    watched: BTreeMap<String, Shell>,
}

impl Beacon for Shells {
    fn look(&mut self, _: &Settings, call: &Call<'_>) -> Result<Vec<Map>, BeaconError> {
        let strace = call.host().which("strace");
        let strace = strace.ok_or(BeaconError::NoProgram("strace"))?;
        for (pid, user) in running(call)? {
            if self.watched.contains_key(&pid) {
                continue;
            }
            if self.watched.len() >= BEACON_SHELLS_MAX {
                warn!("more than {BEACON_SHELLS_MAX} shells: the others are not watched");
                break;
            }
            let args = ["-f", "-e", "trace=execve", "-p", &pid];
            let trace = Follow::start(&strace.to_string_lossy(), &args, Output::Errors).map_err(
                |source| BeaconError::Start {
                    program: "strace",
                    source,
                },
            )?;
            self.watched.insert(pid, Shell { user, trace });
        }
        let mut seen = Vec::new();
        self.watched.retain(|pid, shell| {
            // Asked first: what it says at its end is read below.
            let runs = shell.trace.runs();
            for line in shell.trace.new_lines() {
                seen.extend(event(&line, pid, &shell.user));
            }
            runs
        });
        Ok(seen)
    }
}

/// The processes that are login shells or were started as shells, with their
/// users.
fn running(call: &Call<'_>) -> Result<Vec<(String, Value)>, BeaconError> {
    let shells = call.salt("cmd.shells", &[], Map::new())?;
    let shells: BTreeSet<String> = python::texts(&shells).into_iter().collect();
    let procs = call.salt("status.procs", &[], Map::new())?;
    let procs = procs.as_map().into_iter().flatten();
    let shells = procs.filter_map(|(pid, about)| {
        let cmd = about.get("cmd")?.as_str()?;
        let name = cmd.trim_start_matches('-');
        let is_shell = shells
            .iter()
            .any(|shell| shell == name || shell.rsplit('/').next() == Some(name));
        is_shell.then(|| {
            let user = about.get("user").cloned().unwrap_or_default();
            (python::str(pid), user)
        })
    });
    Ok(shells.collect())
}

/// The program that was started, according to a line of `strace`.
fn event(line: &str, pid: &str, user: &Value) -> Option<Map> {
    let (_, call) = line.split_once("execve")?;
    let mut quoted = call.split('"').skip(1).step_by(2);
    let mut event = Map::from([("tag", Value::from(pid))]);
    if let Some(program) = quoted.next() {
        event.insert("cmd", program);
    }
    event.insert("args", quoted.map(Value::from).collect::<Vec<_>>());
    event.insert("user", user.clone());
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_program_is_told_with_its_arguments() {
        let line = r#"[pid 71] execve("/usr/bin/ls", ["ls", "-l"], 0x55 /* 20 vars */) = 0"#;
        let event = event(line, "70", &"ann".into()).unwrap();
        assert_eq!(
            python::repr(&event.into()),
            "{'tag': '70', 'cmd': '/usr/bin/ls', 'args': ['ls', '-l'], 'user': 'ann'}"
        );
        assert!(super::event("strace: Process 70 attached", "70", &Value::Nil).is_none());
    }
}
