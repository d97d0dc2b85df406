//! Values from the files of `/proc`.

use std::fs;

use halite_proto::{Map, Value};
use jiff::tz::TimeZone;
use nix::sys::statvfs::statvfs;
use nix::sys::sysinfo::sysinfo;

use halite_call::host::mounts;
use halite_call::host::run_quietly;
use halite_call::{Call, CallError, CallResult, os_error, python};

fn read(path: &str) -> Result<String, CallError> {
    fs::read_to_string(path).map_err(|error| os_error(&error, path))
}

/// A number where the text is one.
fn number(text: &str) -> Value {
    text.parse::<i128>()
        .map(Value::Int)
        .or_else(|_| text.parse().map(Value::Float))
        .unwrap_or_else(|_| text.into())
}

fn numbers(texts: &[&str]) -> Value {
    texts
        .iter()
        .map(|text| number(text))
        .collect::<Vec<_>>()
        .into()
}

pub(super) fn uptime(call: &Call<'_>) -> CallResult {
    let text = read("/proc/uptime")?;
    let up: f64 = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_default();
    let now = jiff::Timestamp::now();
    let span = jiff::SignedDuration::try_from_secs_f64(up).unwrap_or_default();
    let since = now.checked_sub(span).unwrap_or(now);
    let seconds = span.as_secs();
    let since_iso = since
        .to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%dT%H:%M:%S%.6f")
        .to_string();
    // Salt counts an empty list of users as one line.
    let users =
        run_quietly(call, &["who", "-s"])?.map_or(1, |ran| ran.stdout.lines().count().max(1));
    Ok(Map::from([
        ("seconds", Value::from(seconds)),
        ("since_iso", since_iso.into()),
        ("since_t", since.as_second().into()),
        ("days", (seconds / 86_400).into()),
        (
            "time",
            format!("{}:{:02}", seconds / 3600 % 24, seconds / 60 % 60).into(),
        ),
        ("users", users.into()),
    ])
    .into())
}

pub(super) fn loadavg(_: &Call<'_>) -> CallResult {
    let info = sysinfo()
        .map_err(|error| CallError::command(format!("could not ask for the load: {error}")))?;
    let (one, five, fifteen) = info.load_average();
    Ok(Map::from([("1-min", one), ("5-min", five), ("15-min", fifteen)]).into())
}

pub(super) fn meminfo(_: &Call<'_>) -> CallResult {
    let text = read("/proc/meminfo")?;
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace();
        let mut entry = Map::from([("value", words.next()?)]);
        if let Some(unit) = words.next() {
            entry.insert("unit", unit);
        }
        Some((name, entry))
    });
    Ok(lines.collect::<Map>().into())
}

pub(super) fn cpuinfo(_: &Call<'_>) -> CallResult {
    let text = read("/proc/cpuinfo")?;
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let value = rest.split(':').next().unwrap_or_default().trim();
        let name = name.trim();
        let value: Value = if name == "flags" {
            value
                .split_whitespace()
                .map(Value::from)
                .collect::<Vec<_>>()
                .into()
        } else {
            value.into()
        };
        Some((name, value))
    });
    Ok(lines.collect::<Map>().into())
}

pub(super) fn cpustats(_: &Call<'_>) -> CallResult {
    const NAMES: &[(&str, usize)] = &[
        ("idle", 4),
        ("iowait", 5),
        ("irq", 6),
        ("nice", 2),
        ("softirq", 7),
        ("steal", 8),
        ("system", 3),
        ("user", 1),
    ];
    let text = read("/proc/stat")?;
    let mut stats = Map::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, first, rest @ ..] = words.as_slice() else {
            continue;
        };
        let value: Value = match *name {
            "cpu" => NAMES
                .iter()
                .filter_map(|(name, at)| Some((*name, number(words.get(*at)?))))
                .collect::<Map>()
                .into(),
            "intr" => Map::from([("total", number(first)), ("irqs", numbers(rest))]).into(),
            "softirq" => Map::from([("total", number(first)), ("softirqs", numbers(rest))]).into(),
            _ => number(first),
        };
        stats.insert(*name, value);
    }
    Ok(stats.into())
}

pub(super) fn diskstats(_: &Call<'_>) -> CallResult {
    const NAMES: &[&str] = &[
        "major",
        "minor",
        "device",
        "reads_issued",
        "reads_merged",
        "sectors_read",
        "ms_spent_reading",
        "writes_completed",
        "writes_merged",
        "sectors_written",
        "ms_spent_writing",
        "io_in_progress",
        "ms_spent_in_io",
        "weighted_ms_spent_in_io",
    ];
    let text = read("/proc/diskstats")?;
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let device = *words.get(2)?;
        let entry: Map = NAMES
            .iter()
            .zip(&words)
            .map(|(name, word)| (*name, number(word)))
            .collect();
        Some((device, entry))
    });
    Ok(lines.collect::<Map>().into())
}

pub(super) fn diskusage(call: &Call<'_>) -> CallResult {
    let words: Vec<String> = call.varargs().iter().map(python::str).collect();
    let (paths, kinds): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with('/'));
    let mut wanted: Vec<String> = paths.into_iter().cloned().collect();
    if words.is_empty() || !kinds.is_empty() {
        let mounts = mounts::read();
        let meant = mounts.into_iter().filter(|mount| {
            kinds.is_empty()
                || kinds
                    .iter()
                    .any(|kind| halite_target::glob::fnmatch(kind, &mount.kind))
        });
        wanted.extend(meant.map(|mount| mount.directory));
    }
    let mut usage = Map::new();
    for path in wanted {
        if let Ok(stat) = statvfs(path.as_str()) {
            let bytes = |blocks: u64| Value::from(blocks.saturating_mul(stat.fragment_size()));
            let entry = Map::from([
                ("available", bytes(stat.blocks_available())),
                ("total", bytes(stat.blocks())),
            ]);
            usage.insert(path, entry);
        }
    }
    Ok(usage.into())
}

pub(super) fn vmstats(_: &Call<'_>) -> CallResult {
    let text = read("/proc/vmstat")?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    Ok(lines
        .map(|(name, value)| (name, number(value.trim())))
        .collect::<Map>()
        .into())
}

pub(super) fn netdev(_: &Call<'_>) -> CallResult {
    const NAMES: &[(&str, usize)] = &[
        ("rx_bytes", 0),
        ("rx_compressed", 6),
        ("rx_drop", 3),
        ("rx_errs", 2),
        ("rx_fifo", 4),
        ("rx_frame", 5),
        ("rx_multicast", 7),
        ("rx_packets", 1),
        ("tx_bytes", 8),
        ("tx_carrier", 14),
        ("tx_colls", 13),
        ("tx_compressed", 15),
        ("tx_drop", 11),
        ("tx_errs", 10),
        ("tx_fifo", 12),
        ("tx_packets", 9),
    ];
    let text = read("/proc/net/dev")?;
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let name = name.trim();
        let mut entry = Map::from([("iface", Value::from(name))]);
        for (field, at) in NAMES {
            entry.insert(*field, number(words.get(*at)?));
        }
        Some((name, entry))
    });
    Ok(lines.collect::<Map>().into())
}

/// Pairs of lines: names, and below them values.
pub(super) fn netstats(_: &Call<'_>) -> CallResult {
    let text = read("/proc/net/netstat")?;
    let lines: Vec<&str> = text.lines().collect();
    let mut stats = Map::new();
    for pair in lines.chunks_exact(2) {
        let (Some((kind, names)), Some((_, values))) =
            (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        let entries: Map = names
            .split_whitespace()
            .zip(values.split_whitespace().map(number))
            .collect();
        stats.insert(kind, entries);
    }
    Ok(stats.into())
}

pub(super) fn nproc(call: &Call<'_>) -> CallResult {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = text
        .lines()
        .filter(|line| {
            line.split(':')
                .next()
                .is_some_and(|key| key.trim() == "processor")
        })
        .count();
    if count > 0 {
        return Ok(count.into());
    }
    Ok(call
        .ctx
        .grains()
        .get("num_cpus")
        .cloned()
        .unwrap_or_default())
}

pub(super) fn version(_: &Call<'_>) -> CallResult {
    Ok(read("/proc/version")?.trim().into())
}
