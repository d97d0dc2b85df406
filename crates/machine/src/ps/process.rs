//! One process, from its files in `/proc`: what lists of processes show.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use halite_call::Call;
use nix::unistd::{SysconfVar, Uid, User, sysconf};

use super::find;
use super::machine::{booted, float, ticks_per_second};

/// A process and the fields of its `stat`, as they were.
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) place: PathBuf,
    name: String,
    /// What follows the name; the first is the state.
    pub(super) fields: Vec<String>,
}

impl Process {
    /// The process with a number, if there is one.
    pub(super) fn of(call: &Call<'_>, pid: i32) -> Option<Self> {
        if pid < 1 {
            return None;
        }
        let place = call.host().path(format!("/proc/{pid}"));
        let (name, fields) = stat(&place)?;
        Some(Self {
            pid,
            place,
            name,
            fields,
        })
    }

    pub(super) fn field(&self, at: usize) -> u64 {
        self.fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or_default()
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// The name, whole where the kernel cuts it.
    pub(super) fn name(&self) -> String {
        find::words(&self.place, false)
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| self.name.clone())
    }

    pub(super) fn status(&self) -> &'static str {
        match self.fields.first().map(String::as_str) {
            Some("R") => "running",
            Some("S") => "sleeping",
            Some("D") => "disk-sleep",
            Some("T") => "stopped",
            Some("t") => "tracing-stop",
            Some("Z") => "zombie",
            Some("X" | "x") => "dead",
            Some("K") => "wake-kill",
            Some("W") => "waking",
            Some("I") => "idle",
            Some("P") => "parked",
            _ => "?",
        }
    }

    /// Ticks it has run.
    pub(super) fn used(&self) -> u64 {
        self.field(11) + self.field(12)
    }

    /// Ticks after the machine's start at which it began.
    pub(super) fn started(&self) -> u64 {
        self.field(19)
    }

    pub(super) fn cpu_times(&self) -> [f64; 5] {
        [11, 12, 13, 14, 39].map(|at| float(self.field(at)) / ticks_per_second())
    }

    pub(super) fn create_time(&self, call: &Call<'_>) -> Option<f64> {
        let booted = u64::try_from(booted(call).ok()?).ok()?;
        Some(float(self.started()) / ticks_per_second() + float(booted))
    }

    pub(super) fn command_line(&self) -> Vec<String> {
        let bytes = fs::read(self.place.join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if text.is_empty() {
            return Vec::new();
        }
        // Programs that rename themselves separate with blanks.
        let separator = if text.ends_with('\0') { '\0' } else { ' ' };
        let text = text.strip_suffix(separator).unwrap_or(&text);
        let words: Vec<&str> = text.split(separator).collect();
        match words.as_slice() {
            [one] if separator == '\0' && one.contains(' ') => {
                one.split(' ').map(str::to_owned).collect()
            }
            words => words.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    pub(super) fn user(&self) -> Option<String> {
        let uid = fs::metadata(&self.place).ok()?.uid();
        let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
        Some(user.map_or_else(|| uid.to_string(), |user| user.name))
    }

    /// Bytes: resident, all, shared, text, libraries, data, dirty.
    pub(super) fn memory(&self) -> Option<[u64; 7]> {
        let text = fs::read_to_string(self.place.join("statm")).ok()?;
        let page = page_bytes();
        let pages: Vec<u64> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let &[all, resident, shared, text, libraries, data, dirty] = pages.as_slice() else {
            return None;
        };
        Some([resident, all, shared, text, libraries, data, dirty].map(|pages| pages * page))
    }
}

fn page_bytes() -> u64 {
    let known = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    known
        .and_then(|bytes| u64::try_from(bytes).ok())
        .unwrap_or(4096)
}

/// The name and what follows it; names may hold blanks and brackets.
pub(super) fn stat(place: &Path) -> Option<(String, Vec<String>)> {
    let bytes = fs::read(place.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (before, after) = text.rsplit_once(") ")?;
    let (_, name) = before.split_once('(')?;
    let fields = after.split_whitespace().map(str::to_owned).collect();
    Some((name.to_owned(), fields))
}
