//! Which processes belong together, and ending all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::MARK;
use crate::wait::{SHORT, until};

/// Ends all processes that carry `mark`; gives what they were.
pub fn end_marked(mark: &str) -> Vec<String> {
    let ended = marked(mark);
    for pid in &ended {
        kill(Pid::from_raw(*pid), Signal::SIGKILL).ok();
    }
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    ended
        .iter()
        .map(|pid| format!("{} ({pid})", name(pid).trim()))
        .collect()
}

/// Asks a process of a fleet to stop that has left its parent: one that went to
/// the background.
pub fn terminate(pid: i32) -> Result<()> {
    let marked = fs::read(format!("/proc/{pid}/environ"))?;
    let prefix = format!("{MARK}=");
    if !marked
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(prefix.as_bytes()))
    {
        bail!("process {pid} belongs to no fleet");
    }
    kill(Pid::from_raw(pid), Signal::SIGTERM).context("could not send SIGTERM")
}

/// Ends every process that belongs to the fleet at `home`, whatever became of
/// its parents.
pub(crate) fn end_fleet(home: &Path) {
    let mark = format!("{MARK}={}", home.display());
    let ended = until("the end of a fleet", SHORT, || {
        let left = marked(&mark);
        for pid in &left {
            kill(Pid::from_raw(*pid), Signal::SIGKILL).ok();
        }
        Ok(left.is_empty().then_some(()))
    });
    // At worst a process in an uninterruptible wait is left to the system.
    drop(ended);
}

/// Kills a process group and its descendants until nothing of it is left.
pub(super) fn end_family(leader: i32) {
    let ended = until("the end of a process group", SHORT, || {
        let left = family(leader);
        if left.is_empty() {
            return Ok(Some(()));
        }
        killpg(Pid::from_raw(leader), Signal::SIGKILL).ok();
        for pid in left {
            kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
        }
        Ok(None)
    });
    // At worst a process in an uninterruptible wait is left to the system.
    drop(ended);
}

/// The processes of the group of `leader` and all their descendants.
pub fn family(leader: i32) -> Vec<i32> {
    let table = process_table();
    let mut family: BTreeSet<i32> = table
        .iter()
        .filter(|entry| entry.group == leader || entry.pid == leader)
        .map(|entry| entry.pid)
        .collect();
    loop {
        let more: Vec<i32> = table
            .iter()
            .filter(|entry| family.contains(&entry.parent) && !family.contains(&entry.pid))
            .map(|entry| entry.pid)
            .collect();
        if more.is_empty() {
            return family.into_iter().collect();
        }
        family.extend(more);
    }
}

/// The processes that were started with `mark`, a variable and its value, in
/// their environment, however far they have gone from their parents.
pub fn marked(mark: &str) -> Vec<i32> {
    let is_marked = |pid: &i32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
            environ
                .split(|byte| *byte == 0)
                .any(|entry| entry == mark.as_bytes())
        })
    };
    process_table()
        .into_iter()
        .map(|entry| entry.pid)
        .filter(is_marked)
        .collect()
}

struct Entry {
    pid: i32,
    parent: i32,
    group: i32,
}

/// All processes of the machine that have not ended.
fn process_table() -> Vec<Entry> {
    let Ok(dir) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    dir.filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command stands in brackets and may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        (state != "Z").then_some(Entry { pid, parent, group })
    })
    .collect()
}
