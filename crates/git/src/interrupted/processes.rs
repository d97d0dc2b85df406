//! Processes that are git, and when this one was started.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::unistd::{SysconfVar, sysconf};

/// How long to wait for a git that has outlived the program that started it.
const SURVIVOR_WAIT_MAX: Duration = Duration::from_secs(30);
const SURVIVOR_POLL: Duration = Duration::from_millis(50);

/// File systems may have coarser times than the clock, and that of the start of
/// the machine is known to the second.
pub(super) const SLACK: Duration = Duration::from_secs(1);

/// Waits for gits that have outlived an earlier run; whether they have ended.
pub fn wait_until_ended(are_at_work: impl Fn() -> bool) -> bool {
    let give_up = Instant::now() + SURVIVOR_WAIT_MAX;
    while are_at_work() {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(SURVIVOR_POLL);
    }
    true
}

/// The directories in `/proc` of all processes that are git.
pub fn running_gits() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|process| process.path()).filter(|process| {
        fs::read(process.join("comm")).is_ok_and(|name| {
            let name = name.trim_ascii_end();
            name == b"git" || name.starts_with(b"git-")
        })
    })
}

/// When this process was started. Nothing where the system does not say it.
pub(super) fn process_began() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: u64 = rest.split_ascii_whitespace().nth(19)?.parse().ok()?;
    let hertz = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime "))?;
    let seconds = boot.trim().parse::<u64>().ok()? + ticks.checked_div(hertz)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + SLACK)
}
