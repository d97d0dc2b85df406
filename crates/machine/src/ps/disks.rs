//! Disks and file systems.

use std::collections::BTreeSet;
use std::fs;

use halite_call::{Call, CallError, CallResult, os_error};
use halite_proto::{Map, Value};
use nix::sys::statvfs::statvfs;

use super::machine::{float, percent, proc_text};
const SECTOR_BYTES: u64 = 512;

/// A mounted file system.
struct Partition {
    device: String,
    mountpoint: String,
    fstype: String,
    opts: String,
}

impl Partition {
    fn into_map(self) -> Map {
        Map::from([
            ("device", self.device),
            ("mountpoint", self.mountpoint),
            ("fstype", self.fstype),
            ("opts", self.opts),
        ])
    }
}

fn partitions(call: &Call<'_>, all: bool) -> Result<Vec<Partition>, CallError> {
    let known = proc_text(call, "filesystems").unwrap_or_default();
    let of_disks: BTreeSet<&str> = known
        .lines()
        .filter_map(|line| match line.trim().strip_prefix("nodev") {
            None => Some(line.trim()),
            Some(rest) => Some(rest.trim()).filter(|kind| *kind == "zfs"),
        })
        .collect();
    let mounts = proc_text(call, "self/mounts")?;
    let read = |line: &str| {
        let mut words = line.split_whitespace().map(unescape);
        let mut next = || words.next();
        Some(Partition {
            device: next().map(|device| {
                if device == "none" {
                    String::new()
                } else {
                    device
                }
            })?,
            mountpoint: next()?,
            fstype: next()?,
            opts: next()?,
        })
    };
    let mut found: Vec<Partition> = mounts.lines().filter_map(read).collect();
    found.retain(|partition| {
        all || !partition.device.is_empty() && of_disks.contains(partition.fstype.as_str())
    });
    for partition in &mut found {
        if matches!(partition.device.as_str(), "/dev/root" | "rootfs")
            && let Some(device) = root_device(call)
        {
            partition.device = device;
        }
    }
    Ok(found)
}

/// Blanks and the like are written as `\040`.
fn unescape(word: &str) -> String {
    let mut plain = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = after.get(..3);
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                plain.push(char::from(code));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain + rest
}

/// What `/` is on, where the kernel does not name it.
fn root_device(call: &Call<'_>) -> Option<String> {
    let device = nix::sys::stat::stat("/").ok()?.st_dev;
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let text = proc_text(call, "partitions").ok()?;
    text.lines().skip(2).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [of_major, of_minor, _, name] = words.as_slice() else {
            return None;
        };
        let is_it = of_major.parse() == Ok(major) && of_minor.parse() == Ok(minor);
        is_it.then(|| format!("/dev/{name}"))
    })
}

pub(super) fn disk_partitions(call: &Call<'_>) -> CallResult {
    let found = partitions(call, call.flag("all"))?.into_iter();
    Ok(found
        .map(|partition| partition.into_map().into())
        .collect::<Vec<Value>>()
        .into())
}

fn usage(path: &str) -> Result<Map, CallError> {
    let about = statvfs(path).map_err(|error| os_error(&error.into(), path))?;
    let bytes = |blocks: u64| blocks.saturating_mul(about.fragment_size());
    let total = bytes(about.blocks());
    let used = total.saturating_sub(bytes(about.blocks_free()));
    let free = bytes(about.blocks_available());
    Ok(Map::from([
        ("total", Value::from(total)),
        ("used", used.into()),
        ("free", free.into()),
        ("percent", percent(float(used), float(used + free)).into()),
    ]))
}

pub(super) fn disk_usage(call: &Call<'_>) -> CallResult {
    Ok(usage(&call.text("path"))?.into())
}

pub(super) fn disk_partition_usage(call: &Call<'_>) -> CallResult {
    let mut all = Vec::new();
    for partition in partitions(call, call.flag("all"))? {
        let usage = usage(&partition.mountpoint)?;
        let mut map = partition.into_map();
        map.extend(usage);
        all.push(Value::from(map));
    }
    Ok(all.into())
}

const DISK_FIELDS: [(&str, usize); 9] = [
    ("read_count", 3),
    ("write_count", 7),
    ("read_bytes", 5),
    ("write_bytes", 9),
    ("read_time", 6),
    ("write_time", 10),
    ("read_merged_count", 4),
    ("write_merged_count", 8),
    ("busy_time", 12),
];

pub(super) fn disk_io_counters(call: &Call<'_>) -> CallResult {
    let text = proc_text(call, "diskstats")?;
    let wanted = call.text_opt("device");
    let mut sums = [0u64; DISK_FIELDS.len()];
    let mut found = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(name) = words.get(2) else { continue };
        let is_wanted = match &wanted {
            Some(wanted) => wanted == name,
            // Partitions are part of their disks.
            None => {
                let block = format!("/sys/block/{}", name.replace('/', "!"));
                fs::metadata(call.host().path(block)).is_ok()
            }
        };
        if !is_wanted {
            continue;
        }
        found = true;
        for (sum, (field, at)) in sums.iter_mut().zip(DISK_FIELDS) {
            let number: u64 = words
                .get(at)
                .and_then(|word| word.parse().ok())
                .unwrap_or_default();
            let unit = if field.ends_with("_bytes") {
                SECTOR_BYTES
            } else {
                1
            };
            *sum = sum.saturating_add(number.saturating_mul(unit));
        }
    }
    if !found && wanted.is_some() {
        return Ok(false.into());
    }
    let fields = DISK_FIELDS.iter().zip(sums);
    Ok(fields
        .map(|((name, _), sum)| (*name, sum))
        .collect::<Map>()
        .into())
}
