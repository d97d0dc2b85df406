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
        "ready_once": tally.ready_once.count(),
        "joined": read(&tally.joined),
        "lost": read(&tally.lost),
        "failed": read(&tally.failed),
        "jobs": read(&tally.jobs),
        "last_job": Duration::from_micros(read(&tally.last_job)).as_secs_f64(),
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn tally() -> Tally {
        let tally = Tally::for_links(4);
        for link in [0, 1, 1] {
            tally.ready_once.record(link);
        }
        for (counter, value) in [(&tally.ready, 2), (&tally.failed, 1), (&tally.spooled, 3)] {
            counter.store(value, Ordering::Relaxed);
        }
        tally.first_ready.add(Duration::from_millis(40));
        tally.events_failed.store(5, Ordering::Relaxed);
        tally
    }

    const USED: Usage = Usage {
        resident_bytes: 3 << 20,
        descriptors: 9,
        cpu: Duration::from_millis(1500),
    };

    #[test]
    fn people_read_what_there_was_and_nothing_of_what_there_was_not() {
        let text = text(&tally(), 4, Duration::from_secs(2), USED);
        let expected = "    2.0 s  links 4  ready 2  lost 0  jobs 0  returned 0  spooled 3  \
            events 0  failed 6  cpu 1.5 s  3 MiB\n\
            from start to ready: 1 times, half within 40 ms, 99 % within 40 ms, all within \
            40 ms\ndescriptors: 9\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn programs_read_the_same_numbers() {
        let json = json(&tally(), 4, Duration::from_secs(2), USED);
        let fields = [
            "links",
            "ready",
            "ready_once",
            "spooled",
            "failed",
            "events_failed",
        ];
        let values = fields.map(|field| json[field].as_u64().unwrap_or(u64::MAX));
        assert_eq!(values, [4, 2, 2, 3, 1, 5]);
        assert_eq!(json["first_ready"]["p99_ms"], 40);
        assert_eq!(json["cpu_seconds"], 1.5);
    }
}
