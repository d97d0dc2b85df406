//! Values measured over some time.

use std::thread;
use std::time::{Duration, Instant};

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

use super::find::pids;
use super::machine::{float, percent, ticks};
use super::process::Process;

/// How long may be measured.
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// How often it is looked whether the job was ended.
const GLANCE: Duration = Duration::from_millis(100);

/// Waits, unless the job is ended.
fn wait(call: &Call<'_>, name: &str) -> Result<(), CallError> {
    let seconds = python::float(call.arg(name))?;
    let interval = Duration::try_from_secs_f64(seconds).map_err(|_| {
        CallError::exception(
            "ValueError",
            format!("interval is not positive (got {seconds})"),
        )
    })?;
    let until = Instant::now() + interval.min(INTERVAL_MAX);
    loop {
        if let Some(signal) = call.cancel().ended_by() {
            return Err(CallError::Ended(signal));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(GLANCE));
    }
}

/// How busy a processor was between two readings of its ticks.
fn busy(before: &[u64], after: &[u64]) -> f64 {
    let spent: Vec<u64> = after
        .iter()
        .zip(before)
        .map(|(after, before)| after.saturating_sub(*before))
        .collect();
    let at = |index: usize| spent.get(index).copied().unwrap_or_default();
    // Guests are counted among users already, waiting for disks is idleness.
    let all: u64 = spent.iter().take(8).sum();
    let idle = at(3) + at(4);
    percent(float(all.saturating_sub(idle)), float(all))
}

pub(super) fn cpu_percent(call: &Call<'_>) -> CallResult {
    let before = ticks(call)?;
    wait(call, "interval")?;
    let after = ticks(call)?;
    let mut shares = before
        .iter()
        .zip(&after)
        .map(|(before, after)| Value::from(busy(before, after)));
    let together = shares.next();
    match call.flag("per_cpu") {
        true => Ok(shares.collect::<Vec<_>>().into()),
        false => Ok(together.unwrap_or(Value::Float(0.0))),
    }
}

pub(super) fn top(call: &Call<'_>) -> CallResult {
    let count = usize::try_from(call.int("num_processes")?).unwrap_or_default();
    let before: Vec<(i32, u64, u64)> = pids(call)
        .into_iter()
        .filter_map(|pid| {
            let process = Process::of(call, pid)?;
            Some((pid, process.started(), process.used()))
        })
        .collect();
    wait(call, "interval")?;
    let mut used: Vec<(u64, Process)> = before
        .into_iter()
        .filter_map(|(pid, started, used)| {
            let process = Process::of(call, pid).filter(|now| now.started() == started)?;
            Some((process.used().saturating_sub(used), process))
        })
        .collect();
    used.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
    let shown = used
        .into_iter()
        .filter_map(|(_, process)| shown(call, &process))
        // Salt shows one at least.
        .take(count.max(1));
    Ok(shown.collect::<Vec<Value>>().into())
}

fn shown(call: &Call<'_>, process: &Process) -> Option<Value> {
    let words = process.command_line();
    let command = match words.is_empty() {
        true => Value::from(process.name()),
        false => words
            .into_iter()
            .map(Value::from)
            .collect::<Vec<_>>()
            .into(),
    };
    let memory = process.memory()?;
    let cpu = [
        "user",
        "system",
        "children_user",
        "children_system",
        "iowait",
    ];
    let mem = ["rss", "vms", "shared", "text", "lib", "data", "dirty"];
    let cpu: Map = cpu.into_iter().zip(process.cpu_times()).collect();
    let mem: Map = mem.into_iter().zip(memory).collect();
    Some(
        Map::from([
            ("cmd", command),
            ("user", process.user().into()),
            ("status", process.status().into()),
            ("pid", process.pid().into()),
            ("create_time", process.create_time(call).into()),
            ("cpu", cpu.into()),
            ("mem", mem.into()),
        ])
        .into(),
    )
}
