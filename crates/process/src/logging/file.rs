//! The log file: opened again when it has been moved away or removed, rotated when
//! it has become too large.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;

use super::directory::{Directory, is_roots_alone, name, parent};
use super::{LogError, LogOptions};
use crate::privileges::User;

/// How long a file that could not be opened again is let be: a log of many
/// lines must not try for each of them.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// A file that may be opened again while it is written to.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    mode: u32,
    owner: Option<User>,
    rotation: Option<(u64, u64)>,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Where it was opened, wherever its path leads by now.
    directory: Directory,
    /// When opening it again failed last.
    failed: Option<Instant>,
}

impl LogFile {
    pub(super) fn open(path: &Path, options: &LogOptions) -> Result<Self, LogError> {
        let (mode, owner) = (options.file_mode, options.file_owner.clone());
        let open = Open::at(path, mode, owner.as_ref())?;
        Ok(Self {
            path: path.to_owned(),
            mode,
            owner,
            rotation: options.rotation,
            open: Mutex::new(open),
        })
    }

    pub(super) fn reopen(&self) -> Result<(), LogError> {
        let open = Open::at(&self.path, self.mode, self.owner.as_ref())?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
        Ok(())
    }

    pub(super) fn write(&self, line: &str) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.failed.is_none_or(|at| at.elapsed() >= RETRY_EVERY)
            && self.is_to_be_opened(&open, line)
        {
            match self.open_again(&open) {
                Some(again) => *open = again,
                None => open.failed = Some(Instant::now()),
            }
        }
        // A full disk must not stop the daemon, and there is nowhere to say so.
        let _ = open.file.write_all(line.as_bytes());
    }

    /// The file that is there now, or a new one. Nothing but a file takes the
    /// place of one unasked: a pipe would hold up whoever logs.
    fn open_again(&self, open: &Open) -> Option<Open> {
        let directory = self.directory(open).ok()?;
        let flags = OFlag::O_NONBLOCK;
        let file = directory
            .open_to_append(&self.path, self.mode, self.owner.as_ref(), flags)
            .ok()?;
        let is_another = file.metadata().ok()?.is_file() && !is_same(&file, &open.file);
        is_another.then_some(Open {
            file,
            directory,
            failed: None,
        })
    }

    /// Where the log belongs when nobody has asked: for root it is where it was
    /// opened, unless root alone says where its path leads. A user whose tree it
    /// is in would else have files of root's made elsewhere with the next line.
    fn directory(&self, open: &Open) -> io::Result<Directory> {
        let parent = parent(&self.path);
        if !crate::privileges::is_root() || is_roots_alone(parent) {
            return Directory::make(parent);
        }
        open.directory.again()
    }

    /// Whether the line belongs into another file than the open one: that was
    /// moved away or removed (`logrotate`, which tells nobody, as Salt needs no
    /// telling), or is full and was put aside.
    fn is_to_be_opened(&self, open: &Open, line: &str) -> bool {
        if !is_at(&open.file, &self.path) {
            // A terminal or a pipe is what it is.
            return open.file.metadata().is_ok_and(|file| file.is_file());
        }
        self.rotation.is_some_and(|(bytes, kept)| {
            is_full(&open.file, line, bytes) && self.put_aside(open, kept).is_ok()
        })
    }

    /// Renames the file to `.1`, `.1` to `.2`, and so on; the oldest one goes.
    /// An error where the file itself could not be: it stays in use.
    fn put_aside(&self, open: &Open, kept: u64) -> io::Result<()> {
        let directory = self.directory(open)?;
        let name = name(&self.path)?;
        let numbered = |number: u64| {
            let mut name = name.to_owned();
            name.push(format!(".{number}"));
            name
        };
        for number in (1..kept).rev() {
            let _ = directory.rename(&numbered(number), &numbered(number + 1));
        }
        directory.rename(name, &numbered(1))
    }
}

impl Open {
    fn at(path: &Path, mode: u32, owner: Option<&User>) -> Result<Self, LogError> {
        let open = || {
            let directory = Directory::make(parent(path))?;
            let file = directory.open_to_append(path, mode, owner, OFlag::empty())?;
            Ok(Self {
                file,
                directory,
                failed: None,
            })
        };
        open().map_err(|source| LogError::Open {
            path: path.to_owned(),
            source,
        })
    }
}

/// Whether a line would make the file larger than it may be.
fn is_full(file: &File, line: &str, bytes: u64) -> bool {
    let length = file.metadata().map_or(0, |file| file.len());
    length > 0 && length + line.len() as u64 > bytes
}

fn is_same(one: &File, other: &File) -> bool {
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => place(&one) == place(&other),
        _ => false,
    }
}

/// Whether an open file is the one that has this name.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => place(&open) == place(&named),
        _ => false,
    }
}

fn place(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;

    #[test]
    fn a_full_file_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let options = LogOptions {
            rotation: Some((10, 2)),
            ..LogOptions::default()
        };
        let log = LogFile::open(&path, &options).unwrap();
        let other = LogFile::open(&path, &options).unwrap();
        for line in ["a234567\n", "b234567\n", "c234567\n", "d234567\n"] {
            log.write(line);
        }
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(text("log"), "d234567\n");
        assert_eq!(
            (text("log.1"), text("log.2")),
            ("c234567\n".into(), "b234567\n".into())
        );
        assert!(!dir.path().join("log.3").exists());
        // Who has the old file open goes on in the new one.
        other.write("eeee\n");
        assert_eq!(text("log"), "d234567\neeee\n");
    }

    #[test]
    fn what_is_moved_away_or_removed_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("var/log");
        let log = LogFile::open(&path, &LogOptions::default()).unwrap();
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        log.write("a\n");
        // By `logrotate` with `create`, and without.
        let moved = path.with_extension("1");
        fs::rename(&path, &moved).unwrap();
        fs::write(&path, "").unwrap();
        log.write("b\n");
        fs::remove_file(&path).unwrap();
        log.write("c\n");
        assert_eq!((text(&moved), text(&path)), ("a\n".into(), "c\n".into()));
        // With `copytruncate`.
        File::create(&path).unwrap();
        log.write("d\n");
        assert_eq!(text(&path), "d\n");
        let parent = path.parent().unwrap();
        fs::remove_dir_all(parent).unwrap();
        log.write("e\n");
        if crate::privileges::is_root() && !is_roots_alone(parent) {
            assert!(!parent.exists(), "nobody has asked");
            log.reopen().unwrap();
            log.write("e\n");
        }
        assert_eq!(text(&path), "e\n");
        // A place that takes no file keeps the log it has.
        fs::rename(parent, dir.path().join("old")).unwrap();
        fs::write(parent, "").unwrap();
        log.write("f\n");
        log.write("g\n");
        assert_eq!(text(&dir.path().join("old/log")), "e\nf\ng\n");
    }

    #[test]
    fn a_directory_that_became_a_link_leads_root_nowhere() {
        // Only root's log takes care whom it follows.
        if !halite_test_support::have_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let [users, theirs, roots] = ["log", "old", "etc"].map(|name| dir.path().join(name));
        let options = LogOptions {
            rotation: Some((6, 1)),
            ..LogOptions::default()
        };
        let log = LogFile::open(&users.join("minion"), &options).unwrap();
        log.write("a\n");
        fs::create_dir(&roots).unwrap();
        fs::rename(&users, &theirs).unwrap();
        symlink(&roots, &users).unwrap();
        log.write("b\n");
        fs::rename(theirs.join("minion"), theirs.join("moved")).unwrap();
        // Not for a second after a try that has changed nothing.
        log.open.lock().unwrap().failed = None;
        log.write("c\n");
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 0);
        let text = |name: &str| fs::read_to_string(theirs.join(name)).unwrap();
        assert_eq!(
            (text("moved"), text("minion")),
            ("a\nb\n".into(), "c\n".into())
        );
        // Nor is a file of the same name put aside there.
        fs::hard_link(theirs.join("minion"), roots.join("minion")).unwrap();
        log.open.lock().unwrap().failed = None;
        log.write("long\n");
        assert!(roots.join("minion").exists() && !roots.join("minion.1").exists());
        assert_eq!(text("minion.1"), "c\n");
    }

    #[test]
    fn a_descriptor_is_a_log_like_any() {
        use std::io::Read;
        use std::os::fd::AsRawFd;

        let (mut read, write) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", write.as_raw_fd());
        let log = LogFile::open(Path::new(&path), &LogOptions::default()).unwrap();
        log.write("line\n");
        drop((log, write));
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "line\n");
    }

    #[test]
    fn a_pipe_does_not_take_the_place_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = LogFile::open(&path, &LogOptions::default()).unwrap();
        let moved = dir.path().join("log.1");
        fs::rename(&path, &moved).unwrap();
        // Nobody reads it: who opens it waits.
        nix::unistd::mkfifo(&path, Mode::from_bits_truncate(0o600)).unwrap();
        log.write("a\n");
        assert_eq!(fs::read_to_string(moved).unwrap(), "a\n");
    }

    #[test]
    fn a_link_that_root_has_not_made_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (log, secret) = (dir.path().join("log"), dir.path().join("secret"));
        fs::write(&secret, "x").unwrap();
        symlink("secret", &log).unwrap();
        if !halite_test_support::have_root() {
            return;
        }
        let nobody = User::lookup("nobody").unwrap();
        let options = LogOptions {
            file_owner: Some(nobody.clone()),
            ..LogOptions::default()
        };
        // The administrator's: `/dev/stdout` in a container.
        let opened = LogFile::open(&log, &options).unwrap();
        opened.write("line\n");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "xline\n");

        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&secret, Some(0), Some(0)).unwrap();
        lchown(&log, Some(nobody.uid.as_raw()), None).unwrap();
        LogFile::open(&log, &options).unwrap_err();
        // Nor for root's own daemon: the directory may be that user's.
        LogFile::open(&log, &LogOptions::default()).unwrap_err();
        assert_eq!(fs::metadata(&secret).unwrap().uid(), 0);

        fs::remove_file(&log).unwrap();
        fs::hard_link(&secret, &log).unwrap();
        LogFile::open(&log, &options).unwrap();
        assert_eq!(fs::metadata(&secret).unwrap().uid(), 0);
    }
}
