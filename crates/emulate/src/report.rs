//! The report about a herd: a line while it runs, and JSON for programs.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::tally::{Percentiles, Samples, Tally, read};

/// What the process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Processor time since the start.
    pub cpu: Duration,
}

impl Usage {
    /// Of this process, as far as `/proc` says.
    pub fn now() -> Self {
        const PAGE_BYTES: u64 = 4096;
        let resident = fs::read_to_string("/proc/self/statm").ok();
        let resident = resident.and_then(|statm| {
            let pages = statm.split_ascii_whitespace().nth(1)?;
            pages.parse::<u64>().ok()
        });
        Self {
            resident_bytes: resident.unwrap_or(0) * PAGE_BYTES,
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            cpu: cpu_time().unwrap_or_default(),
        }
    }
}

/// User and system time: the fields 14 and 15 of `stat`, in hundredths.
fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have anything in it.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let (user, system) = (ticks()?, ticks()?);
    Some(Duration::from_millis((user + system) * 10))
}

/// The herd of now, for programs.
pub fn json(tally: &Tally, links: u64, elapsed: Duration, usage: Usage) -> Value {
    json!({
        "seconds": elapsed.as_secs_f64(),
        "links": links,
        "running": read(&tally.running),
        "ready": read(&tally.ready),
        "joined": read(&tally.joined),
        "lost": read(&tally.lost),
        "failed": read(&tally.failed),
        "jobs": read(&tally.jobs),
        "acknowledged": read(&tally.acknowledged),
        "spooled": read(&tally.spooled),
        "events": read(&tally.events),
        "events_failed": read(&tally.events_failed),
        "first_ready": percentiles(&tally.first_ready),
        "ready_again": percentiles(&tally.ready_again),
        "event_times": percentiles(&tally.event_times),
        "resident_bytes": usage.resident_bytes,
        "descriptors": usage.descriptors,
        "cpu_seconds": usage.cpu.as_secs_f64(),
    })
}

fn percentiles(samples: &Samples) -> Value {
    let Percentiles {
        count,
        p50_ms,
        p99_ms,
        max_ms,
    } = samples.percentiles();
    json!({"count": count, "p50_ms": p50_ms, "p99_ms": p99_ms, "max_ms": max_ms})
}

/// The herd of now, in one line.
pub fn line(tally: &Tally, links: u64, elapsed: Duration, usage: Usage) -> String {
    const MIB: u64 = 1 << 20;
    let counts = [
        ("ready", read(&tally.ready)),
        ("lost", read(&tally.lost)),
        ("jobs", read(&tally.jobs)),
        ("returned", read(&tally.acknowledged)),
        ("spooled", read(&tally.spooled)),
        ("events", read(&tally.events)),
        ("failed", read(&tally.events_failed) + read(&tally.failed)),
    ];
    let mut text = format!("{:7.1} s  links {links}", elapsed.as_secs_f64());
    for (name, value) in counts {
        text.push_str(&format!("  {name} {value}"));
    }
    let (cpu, memory) = (usage.cpu.as_secs_f64(), usage.resident_bytes / MIB);
    text.push_str(&format!("  cpu {cpu:.1} s  {memory} MiB"));
    text
}

/// What came of a herd, for people.
pub fn text(tally: &Tally, links: u64, elapsed: Duration, usage: Usage) -> String {
    let mut text = line(tally, links, elapsed, usage);
    text.push('\n');
    let durations = [
        ("from start to ready", &tally.first_ready),
        ("from loss to ready", &tally.ready_again),
        ("events", &tally.event_times),
    ];
    for (name, samples) in durations {
        let Percentiles {
            count,
            p50_ms,
            p99_ms,
            max_ms,
        } = samples.percentiles();
        if count > 0 {
            text.push_str(&format!(
                "{name}: {count} times, half within {p50_ms} ms, 99 % within {p99_ms} ms, all \
                 within {max_ms} ms\n"
            ));
        }
    }
    text.push_str(&format!("descriptors: {}\n", usage.descriptors));
    text
}
