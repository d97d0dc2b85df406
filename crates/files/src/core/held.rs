//! A file that is looked at and changed through one descriptor.
//!
//! Invariant: what is changed is what was looked at, whatever becomes of the
//! name in between: who may write to the directory could put a link to a file
//! of somebody else there.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

/// An existing file, directory, link or whatever it is.
pub(crate) struct Held {
    // Of std for what it says of the file; most are no open files but places.
    place: File,
    path: PathBuf,
}

impl Held {
    /// Takes hold of what is at `path`; of what a link leads to, if it is to
    /// be followed.
    pub(crate) fn open(path: &Path, follow: bool) -> io::Result<Self> {
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        Ok(Self {
            place: rustix::fs::open(path, flags, Mode::empty())?.into(),
            path: path.to_owned(),
        })
    }

    /// Keeps hold of a file that has just been put at `path`.
    pub(crate) fn of(file: File, path: &Path) -> Self {
        Self {
            place: file,
            path: path.to_owned(),
        }
    }

    /// Takes hold of an entry of a directory, of a link itself.
    pub(crate) fn open_at(
        directory: &OwnedFd,
        name: &std::ffi::OsStr,
        path: &Path,
    ) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self {
            place: rustix::fs::openat(directory, name, flags, Mode::empty())?.into(),
            path: path.to_owned(),
        })
    }

    /// What it is now.
    pub(crate) fn data(&self) -> io::Result<Metadata> {
        self.place.metadata()
    }

    /// Gives it to somebody; `None` leaves it.
    pub(crate) fn chown(&self, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        Ok(rustix::fs::chownat(
            &self.place,
            "",
            uid,
            gid,
            AtFlags::EMPTY_PATH,
        )?)
    }

    /// Sets its mode.
    pub(crate) fn set_mode(&self, bits: u32) -> io::Result<()> {
        let mode = || fs::Permissions::from_mode(bits & 0o7777);
        let own = format!("/proc/self/fd/{}", self.place.as_raw_fd());
        match fs::set_permissions(own, mode()) {
            // No /proc here, as in a bare root.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = rustix::fs::open(&self.path, flags, Mode::empty())?;
                File::from(file).set_permissions(mode())
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_was_taken_hold_of_is_changed_whatever_has_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("f"), dir.path().join("other"));
        fs::write(&path, "").unwrap();
        fs::write(&other, "").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
        let held = Held::open(&path, true).unwrap();
        fs::rename(&path, dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        held.set_mode(0o600).unwrap();
        held.chown(None, None).unwrap();
        assert_eq!(held.data().unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::metadata(&other).unwrap().mode() & 0o7777, 0o644);
        assert!(
            Held::open(&path, false)
                .unwrap()
                .data()
                .unwrap()
                .is_symlink()
        );
    }
}
