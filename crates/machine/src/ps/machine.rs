//! The machine as a whole: memory, processors, interfaces, who is logged in.

use std::collections::BTreeMap;
use std::fs;

use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

/// Entries of `utmp` that are read; the rest is left out.
const LOGINS_MAX: usize = 10_000;

/// The size of an entry of `utmp`, and where its fields are.
const UTMP_BYTES: usize = 384;
const USER_PROCESS: i16 = 7;

/// A share in percent as psutil rounds it.
pub(super) fn percent(part: f64, whole: f64) -> f64 {
    if whole <= 0.0 {
        return 0.0;
    }
    rounded(part / whole * 100.0)
}

/// Python's `round(x, 1)`.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.1}").parse().unwrap_or(value)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share needs no more than a float has"
)]
pub(super) fn float(value: u64) -> f64 {
    value as f64
}

/// A file of `/proc` as text.
pub(super) fn proc_text(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    fs::read_to_string(call.host().path(format!("/proc/{name}")))
        .map_err(|error| CallError::command(format!("could not read /proc/{name}: {error}")))
}

/// `/proc/meminfo` in bytes.
fn meminfo(call: &Call<'_>) -> Result<BTreeMap<String, u64>, CallError> {
    let text = proc_text(call, "meminfo")?;
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
        Some((name.to_owned(), kib.saturating_mul(1024)))
    });
    Ok(lines.collect())
}

pub(super) fn virtual_memory(call: &Call<'_>) -> CallResult {
    let mems = meminfo(call)?;
    let of = |name: &str| mems.get(name).copied().unwrap_or_default();
    let (total, free) = (of("MemTotal"), of("MemFree"));
    let reclaimable = of("SReclaimable");
    let mut available = of("MemAvailable");
    if available == 0 {
        // Kernels before 3.14.
        available = free + of("Cached");
    }
    if available > total {
        available = free;
    }
    let used = total - available;
    Ok(Map::from([
        ("total", Value::from(total)),
        ("available", available.into()),
        ("percent", percent(float(used), float(total)).into()),
        ("used", used.into()),
        ("free", free.into()),
        ("active", of("Active").into()),
        ("inactive", of("Inactive").into()),
        ("buffers", of("Buffers").into()),
        ("cached", (of("Cached") + reclaimable).into()),
        ("shared", of("Shmem").into()),
        ("slab", of("Slab").into()),
    ])
    .into())
}

pub(super) fn total_physical_memory(call: &Call<'_>) -> CallResult {
    Ok(total(call)?.into())
}

pub(super) fn total(call: &Call<'_>) -> Result<u64, CallError> {
    Ok(meminfo(call)?.get("MemTotal").copied().unwrap_or_default())
}

pub(super) fn swap_memory(call: &Call<'_>) -> CallResult {
    let mems = meminfo(call)?;
    let of = |name: &str| mems.get(name).copied().unwrap_or_default();
    let (total, free) = (of("SwapTotal"), of("SwapFree"));
    let used = total.saturating_sub(free);
    let vmstat = proc_text(call, "vmstat").unwrap_or_default();
    let pages = |name: &str| {
        let mut lines = vmstat.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
            .unwrap_or_default()
            .saturating_mul(4096)
    };
    Ok(Map::from([
        ("total", Value::from(total)),
        ("used", used.into()),
        ("free", free.into()),
        ("percent", percent(float(used), float(total)).into()),
        ("sin", pages("pswpin ").into()),
        ("sout", pages("pswpout ").into()),
    ])
    .into())
}

const CPU_FIELDS: [&str; 10] = [
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
    "guest",
    "guest_nice",
];

/// The ticks of all processors together, then of each.
pub(super) fn ticks(call: &Call<'_>) -> Result<Vec<Vec<u64>>, CallError> {
    let text = proc_text(call, "stat")?;
    let lines = text.lines().take_while(|line| line.starts_with("cpu"));
    Ok(lines
        .map(|line| {
            let words = line.split_whitespace().skip(1);
            words.filter_map(|word| word.parse().ok()).collect()
        })
        .collect())
}

/// Ticks of the kernel in a second.
pub(super) fn ticks_per_second() -> f64 {
    let known = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK);
    match known {
        Ok(Some(ticks)) => u32::try_from(ticks).map_or(100.0, f64::from),
        _ => 100.0,
    }
}

pub(super) fn cpu_times(call: &Call<'_>) -> CallResult {
    let all = ticks(call)?;
    let per_second = ticks_per_second();
    let shown = |ticks: &Vec<u64>| -> Value {
        let fields = CPU_FIELDS.iter().zip(ticks);
        fields
            .map(|(name, ticks)| (*name, float(*ticks) / per_second))
            .collect::<Map>()
            .into()
    };
    if call.flag("per_cpu") {
        return Ok(all.iter().skip(1).map(shown).collect::<Vec<_>>().into());
    }
    Ok(all.first().map_or_else(|| Map::new().into(), shown))
}

pub(super) fn num_cpus(call: &Call<'_>) -> CallResult {
    Ok(ticks(call)?.len().saturating_sub(1).into())
}

/// When the machine started, in seconds since 1970.
pub(super) fn booted(call: &Call<'_>) -> Result<i64, CallError> {
    let text = proc_text(call, "stat")?;
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
        .ok_or_else(|| CallError::exception("RuntimeError", "line 'btime' not found in /proc/stat"))
}

pub(super) fn boot_time(call: &Call<'_>) -> CallResult {
    let booted = booted(call)?;
    let Some(format) = call.text_opt("time_format") else {
        return Ok(booted.into());
    };
    let at = jiff::Timestamp::from_second(booted)
        .map_err(|error| CallError::command(error.to_string()))?
        .to_zoned(jiff::tz::TimeZone::system());
    // The only one of C's forms that differs in the C locale.
    let format = format.replace("%c", "%a %b %e %H:%M:%S %Y");
    jiff::fmt::strtime::format(&format, &at)
        .map(Value::from)
        .map_err(|error| CallError::invocation(format!("Invalid format string: {error}")))
}

const NET_FIELDS: [(&str, usize); 8] = [
    ("bytes_sent", 8),
    ("bytes_recv", 0),
    ("packets_sent", 9),
    ("packets_recv", 1),
    ("errin", 2),
    ("errout", 10),
    ("dropin", 3),
    ("dropout", 11),
];

pub(super) fn network_io_counters(call: &Call<'_>) -> CallResult {
    let text = proc_text(call, "net/dev")?;
    let interfaces = text.lines().skip(2).filter_map(|line| {
        let (name, rest) = line.rsplit_once(':')?;
        let numbers: Vec<u64> = rest
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        Some((name.trim(), numbers))
    });
    let wanted = call.text_opt("interface");
    let mut sums = [0u64; NET_FIELDS.len()];
    let mut found = false;
    for (name, numbers) in interfaces {
        if wanted.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        found = true;
        for (sum, (_, at)) in sums.iter_mut().zip(NET_FIELDS) {
            *sum = sum.saturating_add(numbers.get(at).copied().unwrap_or_default());
        }
    }
    if !found && wanted.is_some() {
        return Ok(false.into());
    }
    let fields = NET_FIELDS.iter().zip(sums);
    Ok(fields
        .map(|((name, _), sum)| (*name, sum))
        .collect::<Map>()
        .into())
}

pub(super) fn get_users(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let bytes = ["/run/utmp", "/var/run/utmp"]
        .iter()
        .find_map(|path| fs::read(host.path(path)).ok())
        .unwrap_or_default();
    let entries = bytes.chunks_exact(UTMP_BYTES).take(LOGINS_MAX);
    Ok(entries.filter_map(login).collect::<Vec<_>>().into())
}

/// An entry of `utmp`, if it is somebody's session.
fn login(entry: &[u8]) -> Option<Value> {
    let text = |from: usize, len: usize| {
        let field = entry.get(from..from + len).unwrap_or_default();
        let end = field.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(field.get(..end.unwrap_or(len)).unwrap_or_default()).into_owned()
    };
    let int = |from: usize| {
        let field = entry.get(from..from + 4)?;
        Some(i32::from_ne_bytes(field.try_into().ok()?))
    };
    let kind = i16::from_ne_bytes(entry.get(..2)?.try_into().ok()?);
    if kind != USER_PROCESS {
        return None;
    }
    let tty = text(8, 32);
    let host = match text(76, 256).as_str() {
        ":0" | ":0.0" => "localhost".to_owned(),
        host => host.to_owned(),
    };
    Some(
        Map::from([
            ("name", Value::from(text(44, 32))),
            ("terminal", (!tty.is_empty()).then_some(tty).into()),
            ("host", host.into()),
            ("started", f64::from(int(340)?).into()),
            ("pid", int(4)?.into()),
        ])
        .into(),
    )
}
