//! The kernel's data about this process, under the names that exporters of all
//! languages use.

use std::fmt;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The process that runs this.
#[derive(Debug)]
pub(crate) struct Process;

/// What `/proc/self` says. Counts of the kernel are smaller than 2^52.
struct Usage {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    started: f64,
    open_files: f64,
    open_files_max: f64,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(usage) = Usage::read() else {
            return Ok(());
        };
        let seconds = ConstCounter::new(usage.cpu_seconds);
        let kind = seconds.metric_type();
        let help = "Time on processors in seconds";
        seconds.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, kind)?)?;
        for (name, help, value) in [
            (
                "process_resident_memory_bytes",
                "Memory in use in bytes",
                usage.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Address space in bytes",
                usage.virtual_bytes,
            ),
            (
                "process_start_time_seconds",
                "When it began, in seconds since 1970",
                usage.started,
            ),
            (
                "process_open_fds",
                "Open file descriptors",
                usage.open_files,
            ),
            (
                "process_max_fds",
                "File descriptors that may be open",
                usage.open_files_max,
            ),
            (
                "salt_process_open_fds",
                "Open file descriptors",
                usage.open_files,
            ),
        ] {
            let gauge = ConstGauge::new(value);
            let kind = gauge.metric_type();
            gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
        }
        Ok(())
    }
}

impl Usage {
    #[expect(
        clippy::cast_precision_loss,
        reason = "what the kernel counts is smaller than 2^52"
    )]
    fn read() -> Option<Self> {
        const UTIME: usize = 11;
        const STIME: usize = 12;
        const START: usize = 19;
        const VIRTUAL: usize = 20;
        const RESIDENT_PAGES: usize = 21;
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program may hold anything, spaces and brackets too.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let number = |at: usize| fields.get(at)?.trim().parse::<u64>().ok();
        let ticks = sysconf(SysconfVar::CLK_TCK).ok()??.max(1) as f64;
        let page = sysconf(SysconfVar::PAGE_SIZE).ok()?? as f64;
        let open_files_max = getrlimit(Resource::RLIMIT_NOFILE).ok()?.0;
        // The directory that is read is one of them.
        let open_files = fs::read_dir("/proc/self/fd")
            .ok()?
            .count()
            .saturating_sub(1);
        Some(Self {
            cpu_seconds: (number(UTIME)? + number(STIME)?) as f64 / ticks,
            resident_bytes: number(RESIDENT_PAGES)? as f64 * page,
            virtual_bytes: number(VIRTUAL)? as f64,
            started: booted()?.as_secs_f64() + number(START)? as f64 / ticks,
            open_files: open_files as f64,
            open_files_max: open_files_max as f64,
        })
    }
}

/// When the machine has started, since 1970.
fn booted() -> Option<Duration> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    now.checked_sub(Duration::try_from_secs_f64(uptime).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_this_process() {
        let usage = Usage::read().unwrap();
        assert!(usage.resident_bytes > 100_000.0);
        assert!(usage.open_files >= 3.0);
        assert!(usage.open_files_max >= usage.open_files);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!((0.0..3600.0 * 24.0).contains(&(now.as_secs_f64() - usage.started)));
    }
}
