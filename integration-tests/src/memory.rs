//! How much memory a daemon with all its processes takes.

use anyhow::{Context, Result};

/// The proportional set size in KiB: what the processes would give back
/// together, shared pages counted once in all.
pub fn pss_kib(pids: &[i32]) -> Result<u64> {
    sum_kib(pids, "Pss:")
}

/// What the processes have written themselves, in KiB: unlike the proportional
/// set size it does not grow when another process of the same program ends.
pub fn own_kib(pids: &[i32]) -> Result<u64> {
    sum_kib(pids, "Anonymous:")
}

fn sum_kib(pids: &[i32], field: &str) -> Result<u64> {
    let mut sum = 0;
    for pid in pids {
        // A process that ended since the list was made counts as nothing.
        let Ok(rollup) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
            continue;
        };
        let Some(line) = rollup.lines().find(|line| line.starts_with(field)) else {
            continue;
        };
        sum += line
            .split_ascii_whitespace()
            .nth(1)
            .and_then(|number| number.parse::<u64>().ok())
            .with_context(|| format!("what is `{line}` of process {pid}?"))?;
    }
    Ok(sum)
}
