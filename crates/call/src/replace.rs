//! Replacing a file in one step.
//!
//! The new content is written to a file without a name (or one beside the
//! target), gets owner, mode and attributes, and then the name. Invariant:
//! whenever the process dies, the name leads to the whole old or the whole new
//! content, which was never open to more people than it is to be; and a link
//! that is put in the way while we work is replaced, not followed.
//!
//! The name beside is made from the target's and the file is locked while
//! somebody writes it: what a killed process has left is known as such, and is
//! gone with the next attempt at the same target.

mod dress;

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};

use crate::paths::HeldName;

pub use dress::Dress;
pub(crate) use dress::{Old, put_on};

/// A file that has been put in its place.
#[derive(Debug)]
pub struct Placed {
    /// The file: what is learned and changed through it is of this one,
    /// whatever has its name by now.
    pub file: File,
    /// What it was before it got owner and mode; nothing for a device or pipe,
    /// which stays what it is.
    pub fresh: Option<Metadata>,
}

/// Replaces the file `to` with what `write` writes.
///
/// # Errors
/// When the directory does not take the new file, or `write` fails; the old
/// one is there then as it was.
pub fn replace_with(
    to: &Path,
    dress: Dress,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    place(to, dress, write).map(drop)
}

/// As [`replace_with`]; the file, for those who have more to do with it.
///
/// # Errors
/// As [`replace_with`].
pub fn place(
    to: &Path,
    dress: Dress,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Placed> {
    place_at(&HeldName::of(to)?, dress, write)
}

/// As [`place`], in the place that a path leads to: a link there is followed,
/// as by every other program that writes a file.
///
/// # Errors
/// As [`replace_with`].
pub fn place_followed(
    to: &Path,
    dress: Dress,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Placed> {
    place_at(&HeldName::followed(to)?, dress, write)
}

/// As [`place`], where one has come to already.
///
/// # Errors
/// As [`replace_with`].
pub fn place_at(
    to: &HeldName,
    dress: Dress,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<Placed> {
    let (directory, name) = (to.directory(), to.name());
    if name == "." {
        return Err(io::Error::from_raw_os_error(nix::libc::EISDIR));
    }
    let old = Old::of(directory, name);
    if old.as_ref().is_some_and(Old::is_device) {
        // A device or pipe takes what it is given; it is not to become a file.
        // A pipe that nobody reads is an error: its owner could stop us here.
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let device = rustix::fs::openat(directory, name, flags, Mode::empty())?;
        let mut file = File::from(device);
        write(&mut file)?;
        return Ok(Placed { file, fresh: None });
    }
    let old = old.filter(Old::is_file);
    let mut fresh = Fresh::create(directory, name)?;
    write(&mut fresh.file)?;
    let own = put_on(&fresh.file, dress, old.as_ref())?;
    Ok(Placed {
        file: fresh.name(name)?,
        fresh: Some(own),
    })
}

/// The mask of this thread, read without changing it.
pub fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    /// The mask stands in the second line, after the name of the thread.
    const BEGINNING: usize = 256;
    let read = || {
        let mut beginning = [0_u8; BEGINNING];
        let length = File::open("/proc/thread-self/status")?.read(&mut beginning)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&beginning[..length]).into_owned())
    };
    let status = read().unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .unwrap_or(USUAL)
}

/// A file that is not under its name yet.
struct Fresh<'d> {
    file: File,
    beside: Beside<'d>,
}

/// The name beside the target that a file has meanwhile, if it has one.
struct Beside<'d> {
    directory: &'d OwnedFd,
    name: Option<String>,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(self.directory, name.as_str(), AtFlags::empty());
        }
    }
}

impl<'d> Fresh<'d> {
    fn create(directory: &'d OwnedFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let (name, file) = match rustix::fs::openat(directory, ".", flags, private()) {
            Ok(file) => (None, File::from(file)),
            Err(_) => {
                let (name, file) = create_beside(directory, name)?;
                (Some(name), file)
            }
        };
        let beside = Beside { directory, name };
        Ok(Self { file, beside })
    }

    /// Gives the file its name; what has the name now is replaced.
    fn name(mut self, name: &OsStr) -> io::Result<File> {
        if self.beside.name.is_none() {
            match self.link(name) {
                Ok(()) => return Ok(self.file),
                Err(rustix::io::Errno::EXIST) => self.link_beside(name)?,
                // No /proc here: by way of a file with a name.
                Err(_) => self.copy_beside(name)?,
            }
        }
        let directory = self.beside.directory;
        if let Some(beside) = &self.beside.name {
            rustix::fs::renameat(directory, beside.as_str(), directory, name)?;
        }
        self.beside.name = None;
        unlock(&self.file);
        Ok(self.file)
    }

    fn link(&self, to: &OsStr) -> rustix::io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
        rustix::fs::linkat(
            rustix::fs::CWD,
            own.as_str(),
            self.beside.directory,
            to,
            AtFlags::SYMLINK_FOLLOW,
        )
    }

    fn link_beside(&mut self, name: &OsStr) -> io::Result<()> {
        // Before it has a name by which others could find it.
        lock(&self.file);
        let directory = self.beside.directory;
        let beside = beside_of(name);
        let beside = match self.link(beside.as_ref()) {
            Ok(()) => beside,
            Err(rustix::io::Errno::EXIST) => {
                let other = if is_left_behind(directory, &beside) {
                    rustix::fs::unlinkat(directory, beside.as_str(), AtFlags::empty())?;
                    beside
                } else {
                    random_beside()
                };
                self.link(other.as_ref())?;
                other
            }
            Err(error) => return Err(error.into()),
        };
        self.beside.name = Some(beside);
        Ok(())
    }

    fn copy_beside(&mut self, name: &OsStr) -> io::Result<()> {
        let (beside, mut file) = create_beside(self.beside.directory, name)?;
        self.beside.name = Some(beside);
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.file, &mut file)?;
        let data = self.file.metadata()?;
        let dress = Dress {
            mode: Some(data.permissions().mode()),
            uid: Some(data.uid()),
            gid: Some(data.gid()),
            ..Dress::default()
        };
        let opened = self.file.try_clone().ok();
        put_on(&file, dress, Some(&Old { data, opened }))?;
        self.file = file;
        Ok(())
    }
}

fn private() -> Mode {
    Mode::RUSR | Mode::WUSR
}

/// Says that somebody is at work. Where files cannot be locked, what is left
/// behind stays.
fn lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Says that nobody is at work any more: the file is in its place.
fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// A private file beside the one with this name, which it is to become.
pub(crate) fn create_beside(directory: &OwnedFd, name: &OsStr) -> io::Result<(String, File)> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let create = |beside: &str| rustix::fs::openat(directory, beside, flags, private());
    let mut beside = beside_of(name);
    let file = match create(&beside) {
        Err(rustix::io::Errno::EXIST) => {
            if is_left_behind(directory, &beside) {
                rustix::fs::unlinkat(directory, beside.as_str(), AtFlags::empty())?;
            } else {
                beside = random_beside();
            }
            create(&beside)?
        }
        created => created?,
    };
    let file = File::from(file);
    lock(&file);
    Ok((beside, file))
}

/// Whether a file beside a target is one that nobody writes any more.
fn is_left_behind(directory: &OwnedFd, beside: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(directory, beside, flags, Mode::empty()) else {
        return false;
    };
    let is_file = rustix::fs::fstat(&file)
        .is_ok_and(|data| FileType::from_raw_mode(data.st_mode) == FileType::RegularFile);
    is_file && lock(&File::from(file))
}

/// The name beside a target: the same each time, and never too long.
fn beside_of(name: &OsStr) -> String {
    const HEX_DIGITS: usize = 16;
    let sum = halite_crypto::hash_hex(halite_crypto::HashType::Sha256, name.as_bytes());
    let short: String = sum.chars().take(HEX_DIGITS).collect();
    format!("{PREFIX}{short}")
}

const PREFIX: &str = ".halite-";

fn random_beside() -> String {
    let mut name = String::from(PREFIX);
    for byte in halite_crypto::random_bytes::<12>() {
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace_with(&path, Dress::kept(0o640), |file| file.write_all(b"one")).unwrap();
        assert_eq!(mode(&path), 0o640);
        replace_with(&path, Dress::kept(0o600), |file| file.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode(&path), 0o640);
        replace_with(&path, Dress::with_mode(0o600), |_| Ok(())).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(count(dir.path()), 1);
    }

    #[test]
    fn what_a_killed_process_left_is_gone_and_what_another_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        let beside = dir.path().join(beside_of(OsStr::new("f")));
        fs::write(&beside, "half").unwrap();
        replace_with(&path, Dress::default(), |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(count(dir.path()), 1);

        fs::write(&beside, "half").unwrap();
        let other = File::open(&beside).unwrap();
        assert!(lock(&other));
        replace_with(&path, Dress::default(), |file| file.write_all(b"newer")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        assert_eq!(fs::read(&beside).unwrap(), b"half");

        fs::remove_file(&beside).unwrap();
        std::os::unix::fs::symlink("nowhere", &beside).unwrap();
        replace_with(&path, Dress::default(), |file| file.write_all(b"newest")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"newest");
    }

    #[test]
    fn files_with_a_name_from_the_beginning_are_cleaned_too() {
        let dir = tempfile::tempdir().unwrap();
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        let directory = rustix::fs::open(dir.path(), flags, Mode::empty()).unwrap();
        let (first, file) = create_beside(&directory, OsStr::new("f")).unwrap();
        let (second, _other) = create_beside(&directory, OsStr::new("f")).unwrap();
        assert_ne!(first, second);
        drop(file);
        // A child of another test may hold it open until it runs its program.
        let until = Instant::now() + Duration::from_secs(60);
        while create_beside(&directory, OsStr::new("f")).unwrap().0 != first {
            assert!(Instant::now() < until, "the name stays taken");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_pipe_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        let write = |file: &mut File| file.write_all(b"new");
        // Nobody reads it: nothing waits for somebody who does.
        let unread = replace_with(&path, Dress::default(), write).unwrap_err();
        assert_eq!(unread.raw_os_error(), Some(nix::libc::ENXIO));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut reader = File::from(rustix::fs::open(&path, flags, Mode::empty()).unwrap());
        replace_with(&path, Dress::default(), write).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"new");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        let full = || io::Error::from_raw_os_error(nix::libc::ENOSPC);
        let failed = replace_with(&path, Dress::default(), |file| {
            file.write_all(b"half")?;
            Err(full())
        });
        assert_eq!(failed.unwrap_err().raw_os_error(), full().raw_os_error());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(count(dir.path()), 1);
    }
}
