//! The lock of a remote: a file that says which process updates it.
//!
//! It is in the same place as Salt's (`work/NAME/_/update.lk`), and its first two
//! lines are Salt's: the process and the machine. The third line is ours: when the
//! process was started and in which space of process ids, so that another one with
//! the same number is not taken for it.
//!
//! Invariant: of the processes that use this module on one machine, one holds a
//! lock at a time; and a lock without a holder never has to be removed by a person.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;

use crate::limits::{LOCK_BYTES_MAX, LOCK_STALE_AFTER};

/// A lock that is held. It is released when it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

/// What became of a wish for a lock.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is held.
    Here(Lock),
    /// Somebody else holds it.
    Elsewhere(Holder),
}

/// Whom a lock names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pid: u32,
    machine: String,
    /// When the process was started, in ticks, and its space of process ids.
    started: Option<String>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} of machine {}", self.pid, self.machine)
    }
}

impl Lock {
    /// Takes a lock, also from a holder that is gone. With `global` the holders
    /// on other machines count too.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub(crate) fn take(path: &Path, global: bool) -> io::Result<Taken> {
        let _guard = guard(path)?;
        let own = Holder::own();
        let born = path.with_extension(format!("born-{}", own.pid));
        let file = own.write(&born)?;
        let taken = match fs::hard_link(&born, path) {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The time of the machine that keeps the files.
                let now = file.metadata()?.modified()?;
                match Holder::in_the_way(path, now, global)? {
                    Some(holder) => Ok(Some(holder)),
                    None => fs::rename(&born, path).map(|()| None),
                }
            }
            Err(error) => Err(error),
        };
        if !matches!(taken, Ok(None)) || born.exists() {
            fs::remove_file(&born).ok();
        }
        Ok(match taken? {
            Some(holder) => Taken::Elsewhere(holder),
            None => Taken::Here(Self {
                path: path.to_owned(),
                file,
            }),
        })
    }

    /// Says that it is still held; whether it is. The time is that of the
    /// machine that keeps the files: others compare it with theirs.
    pub(crate) fn renew(&self) -> bool {
        let now = TimeSpec::UTIME_NOW;
        self.is_held() && futimens(&self.file, &now, &now).is_ok()
    }

    /// When it was taken or renewed, by the clock of the machine that keeps the files.
    pub(crate) fn taken(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    /// Leaves it when this process goes on: until it ends, or somebody removes
    /// the file.
    pub(crate) fn keep(self) {
        let mut this = self;
        this.path = PathBuf::new();
    }

    fn is_held(&self) -> bool {
        let id = |data: fs::Metadata| (data.dev(), data.ino());
        let there = fs::symlink_metadata(&self.path).map(id).ok();
        there.is_some() && there == self.file.metadata().map(id).ok()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        let _guard = guard(&self.path).ok();
        if self.is_held() {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Keeps others from taking or releasing the lock meanwhile. The system
/// releases it when this process ends.
fn guard(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    let file = options.open(path.with_extension("guard"))?;
    file.lock()?;
    Ok(file)
}

impl Holder {
    fn own() -> Self {
        Self {
            pid: process::id(),
            machine: machine(),
            started: started(process::id()),
        }
    }

    fn write(&self, path: &Path) -> io::Result<File> {
        fs::remove_file(path).ok();
        let mut options = File::options();
        let mut file = options
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(path)?;
        let started = self.started.as_deref().unwrap_or_default();
        write!(file, "{}\n{}\n{started}\n", self.pid, self.machine)?;
        Ok(file)
    }

    /// Reads a lock; `None` in the place of the holder if it names none.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let text = match halite_crypto::files::read_limited(path, LOCK_BYTES_MAX) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => return Ok(None),
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut lines = text.lines().map(str::trim);
        let pid = lines.next().and_then(|line| line.parse().ok());
        Ok(pid.filter(|pid| *pid != 0).map(|pid| Self {
            pid,
            machine: lines.next().unwrap_or_default().to_owned(),
            started: lines
                .next()
                .filter(|line| !line.is_empty())
                .map(str::to_owned),
        }))
    }

    /// Who holds the lock at `path` for good.
    fn in_the_way(path: &Path, now: SystemTime, global: bool) -> io::Result<Option<Self>> {
        let age = match fs::symlink_metadata(path) {
            Ok(data) => now.duration_since(data.modified()?).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let nameless = Self {
            pid: 0,
            machine: "of unknown name".to_owned(),
            started: None,
        };
        let holder = Self::read(path)?.unwrap_or(nameless);
        let is_there = match holder.is_alive() {
            Some(is_alive) => is_alive,
            None => is_fresh(age, global),
        };
        Ok(is_there.then_some(holder))
    }

    /// Whether its process runs; `None` if that cannot be seen from here.
    fn is_alive(&self) -> Option<bool> {
        if self.pid == 0 || self.machine != machine() {
            return None;
        }
        let Some(then) = &self.started else {
            // A lock of Salt's.
            return Some(started(self.pid).is_some());
        };
        let part = |started: &str, at| started.split(' ').nth(at).map(str::to_owned);
        let own = started(process::id())?;
        if part(then, 1) != part(&own, 1) {
            // The machine was started anew.
            return Some(false);
        }
        if part(then, 2) != part(&own, 2) {
            return None;
        }
        Some(started(self.pid).as_ref() == Some(then))
    }
}

/// Whether a holder that cannot be seen counts.
fn is_fresh(age: Duration, global: bool) -> bool {
    global && age < LOCK_STALE_AFTER
}

/// What Salt calls this machine.
pub fn machine() -> String {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
    let mut names = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    names
        .next()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "no_machine_id_available".to_owned())
}

/// When a process was started, in ticks since the machine was, which start of the
/// machine that is, and the space of ids that this process sees it in.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    let ticks = fields.nth(18)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    Some(format!("{ticks} {} {}", boot.trim(), space.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(path: &Path) -> Lock {
        match Lock::take(path, true).unwrap() {
            Taken::Here(lock) => lock,
            Taken::Elsewhere(holder) => panic!("{holder}"),
        }
    }

    fn is_free(path: &Path, global: bool) -> bool {
        matches!(Lock::take(path, global).unwrap(), Taken::Here(_))
    }

    fn put(path: &Path, text: &str, age: Duration) {
        fs::write(path, text).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    const FRESH: Duration = Duration::from_secs(1);

    #[test]
    fn one_holds_it_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        let lock = here(&path);
        assert!(lock.renew());
        assert!(!is_free(&path, true));
        assert!(!is_free(&path, false));
        drop(lock);
        assert!(!path.exists());
        assert!(is_free(&path, true));
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn its_first_lines_are_salts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        let _lock = here(&path);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], [process::id().to_string(), machine()]);
    }

    #[test]
    fn a_process_of_this_machine_that_is_gone_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        let mut child = process::Command::new("true").spawn().unwrap();
        let gone = child.id();
        child.wait().unwrap();
        let own = process::id();
        let other_start = started(own)
            .unwrap()
            .replacen(|c: char| c.is_ascii_digit(), "x", 1);
        for (text, is_held) in [
            (format!("{gone}\n{}\n", machine()), false),
            (format!("{own}\n{}\n", machine()), true),
            (format!("{own}\n{}\n{other_start}\n", machine()), false),
            (
                format!("{own}\n{}\n{}\n", machine(), started(own).unwrap()),
                true,
            ),
        ] {
            put(&path, &text, FRESH);
            assert_eq!(is_free(&path, true), !is_held, "{text}");
            fs::remove_file(&path).ok();
        }
    }

    #[test]
    fn another_machine_holds_it_while_it_renews_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        for text in ["12\nother\n", "12\nother\n34 x y\n", ""] {
            put(&path, text, FRESH);
            assert!(!is_free(&path, true), "{text:?}");
            put(&path, text, LOCK_STALE_AFTER + FRESH);
            assert!(is_free(&path, true), "{text:?}");
            // Without `gitfs_global_lock` only this machine counts.
            put(&path, text, FRESH);
            assert!(is_free(&path, false), "{text:?}");
        }
    }

    #[test]
    fn a_renewal_makes_a_lock_fresh() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        let lock = here(&path);
        let age = LOCK_STALE_AFTER + FRESH;
        lock.file.set_modified(SystemTime::now() - age).unwrap();
        assert!(lock.renew());
        let renewed = fs::metadata(&path).unwrap().modified().unwrap();
        assert!(renewed.elapsed().unwrap_or_default() < LOCK_STALE_AFTER);
    }

    #[test]
    fn a_holder_sees_that_it_was_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("update.lk");
        let lock = here(&path);
        fs::remove_file(&path).unwrap();
        let other = here(&path);
        assert!(!lock.renew());
        drop(lock);
        assert!(other.renew(), "it was removed by somebody else");
    }
}
