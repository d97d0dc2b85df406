//! A file that is checked and changed through one descriptor.
//!
//! Invariant: the file that is changed is the one that was checked, whatever
//! becomes of the name in between. Otherwise a user who may write to the directory
//! could put a link to somebody else's file there.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use super::place::HeldName;

/// An existing file, directory, link or whatever it is.
#[derive(Debug)]
pub struct Held {
    // Of std for what it says of the file; most are no open files but places.
    place: File,
    path: PathBuf,
}

impl Held {
    /// Takes hold of what is at `path`; of what a link leads to, if it is to
    /// be followed.
    ///
    /// # Errors
    /// When nothing is there, or a link is not followed.
    pub fn open(path: &Path, follow: bool) -> io::Result<Self> {
        match follow {
            true => HeldName::followed(path)?.hold(),
            false => HeldName::of(path)?.hold(),
        }
    }

    /// Keeps hold of a file that has just been put at `path`.
    pub fn of(file: File, path: &Path) -> Self {
        Self {
            place: file,
            path: path.to_owned(),
        }
    }

    /// The path by which it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is now.
    ///
    /// # Errors
    /// What the system says.
    pub fn data(&self) -> io::Result<Metadata> {
        self.place.metadata()
    }

    /// Gives it to somebody; `None` leaves it.
    ///
    /// # Errors
    /// What the system says.
    pub fn chown(&self, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
        let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
        Ok(rustix::fs::chownat(
            &self.place,
            "",
            uid,
            gid,
            AtFlags::EMPTY_PATH,
        )?)
    }

    /// Sets its mode. A link has none.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_mode(&self, bits: u32) -> io::Result<()> {
        let mode = || fs::Permissions::from_mode(bits & 0o7777);
        let own = format!("/proc/self/fd/{}", self.place.as_raw_fd());
        match fs::set_permissions(own, mode()) {
            // No /proc here, as in a bare root.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file = File::from(rustix::fs::open(&self.path, flags, Mode::empty())?);
                let (own, other) = (self.data()?, file.metadata()?);
                if (own.dev(), own.ino()) != (other.dev(), other.ino()) {
                    return Err(error);
                }
                file.set_permissions(mode())
            }
            done => done,
        }
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }
}

#[cfg(test)]
mod tests {
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
        let link = Held::open(&path, false).unwrap();
        assert!(link.data().unwrap().is_symlink());
    }
}
