//! A temporary directory with the daemons of one test in it.
//!
//! Invariant: nothing that was started in the directory outlives the fleet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::kind::Programs;
use crate::process::end_fleet;

/// A path of a unix socket takes at most 107 bytes; this leaves room for the
/// longest name below it, that of a minion's event bus.
const DIR_LEN_MAX: usize = 50;

/// How much of each log a failed test shows.
const LOG_LINES_SHOWN: usize = 80;

/// What a daemon says, and an API beside a master, in the directory of either.
const CONSOLES: [&str; 3] = ["log", "console", "api-console"];

/// The daemons of one test.
#[derive(Debug)]
pub struct Fleet {
    // Ends the processes before `dir` is removed: fields drop in order.
    guard: Guard,
    dir: Option<TempDir>,
    programs: Programs,
}

#[derive(Debug)]
struct Guard {
    path: PathBuf,
    shows_logs: bool,
}

impl Fleet {
    /// An empty fleet, in a directory whose name begins with `name`, with the
    /// programs that the environment names.
    pub fn new(name: &str) -> Result<Self> {
        Self::with(name, Programs::from_env()?, true, &std::env::temp_dir())
    }

    /// An empty fleet that does not show logs at its end: for programs, not
    /// for tests.
    pub fn quiet(name: &str, programs: Programs) -> Result<Self> {
        Self::with(name, programs, false, &std::env::temp_dir())
    }

    /// As [`Fleet::quiet`], with its directory in `base`.
    pub fn quiet_in(name: &str, programs: Programs, base: &Path) -> Result<Self> {
        Self::with(name, programs, false, base)
    }

    fn with(name: &str, programs: Programs, shows_logs: bool, base: &Path) -> Result<Self> {
        let mut base = base.to_owned();
        if base.as_os_str().len() > DIR_LEN_MAX / 2 {
            base = PathBuf::from("/tmp");
        }
        let dir = tempfile::Builder::new()
            .prefix(&format!("{name}."))
            .tempdir_in(&base)
            .with_context(|| format!("no directory in {}", base.display()))?;
        // Names of files are compared with what daemons report.
        let path = dir.path().canonicalize()?;
        if path.as_os_str().len() > DIR_LEN_MAX {
            bail!("{} is too long for unix sockets below it", path.display());
        }
        let dir = match std::env::var_os("HALITE_TEST_KEEP") {
            Some(_) => {
                drop(dir.keep());
                None
            }
            None => Some(dir),
        };
        Ok(Self {
            guard: Guard { path, shows_logs },
            dir,
            programs,
        })
    }

    /// The directory of the fleet.
    pub fn path(&self) -> &Path {
        &self.guard.path
    }

    /// Where the programs are.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Leaves the directory in place at the end.
    pub fn keep(&mut self) -> &Path {
        if let Some(dir) = self.dir.take() {
            drop(dir.keep());
        }
        self.path()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        end_fleet(&self.path);
        // libtest shows what a test prints only if the test fails, so this
        // need not know whether it did.
        if self.shows_logs {
            print_logs(&self.path);
        }
    }
}

#[allow(clippy::print_stdout, reason = "the output of a failed test")]
fn print_logs(dir: &Path) {
    let Ok(daemons) = fs::read_dir(dir) else {
        return;
    };
    let mut logs: Vec<PathBuf> = daemons
        .flatten()
        .flat_map(|daemon| CONSOLES.map(|name| daemon.path().join(name)))
        .collect();
    logs.sort();
    for log in logs {
        let Ok(bytes) = fs::read(&log) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(LOG_LINES_SHOWN);
        println!(
            "=== {} ({} lines, {skipped} not shown)",
            log.display(),
            lines.len()
        );
        for line in lines.iter().skip(skipped) {
            println!("{line}");
        }
    }
}
