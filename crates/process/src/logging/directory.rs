//! The directory that a log is in: opened once, and for root without following
//! links of users.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat, renameat};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};

use crate::privileges::User;

/// A directory with a log in it, whatever its name leads to a moment later.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory, or makes it.
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(path)?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(open(path, flags, Mode::empty())?))
    }

    pub(super) fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, from, &self.0, to)?)
    }

    /// Opens the log `path` in it, or makes it, for `owner`.
    pub(super) fn open_to_append(
        &self,
        path: &Path,
        mode: u32,
        owner: Option<&User>,
        flags: OFlag,
    ) -> io::Result<File> {
        let file = self.open_safely(name(path)?, mode, flags)?;
        let found = file.metadata()?;
        // A terminal, a pipe or a file with other names is not only ours.
        if let Some(owner) = owner.filter(|_| crate::privileges::is_root())
            && found.is_file()
            && found.nlink() == 1
        {
            fchown(&file, Some(owner.uid.as_raw()), Some(owner.gid.as_raw()))?;
        }
        Ok(file)
    }

    /// For root a symbolic link is followed only where root has put it: else
    /// the user whose directory it is would have a file of root's written to,
    /// and may be given it.
    fn open_safely(&self, name: &OsStr, mode: u32, flags: OFlag) -> io::Result<File> {
        let open = |name: &OsStr, more: OFlag| {
            let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT | flags | more;
            let mode = Mode::from_bits_truncate(mode);
            openat(&self.0, name, flags | OFlag::O_CLOEXEC, mode).map(File::from)
        };
        // In `/proc/self/fd` links are the kernel's, and no paths.
        if !crate::privileges::is_root() || fstatfs(&self.0)?.filesystem_type() == PROC_SUPER_MAGIC
        {
            return Ok(open(name, OFlag::empty())?);
        }
        match open(name, OFlag::O_NOFOLLOW) {
            Err(Errno::ELOOP) => Ok(open(&self.target_of_root(name)?, OFlag::empty())?),
            opened => Ok(opened?),
        }
    }

    /// Where a link leads that is root's; asked of the link itself, whatever
    /// has its name a moment later.
    fn target_of_root(&self, name: &OsStr) -> io::Result<OsString> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let link = openat(&self.0, name, flags, Mode::empty())?;
        if fstat(&link)?.st_uid != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is a symbolic link that root has not made",
            ));
        }
        Ok(readlinkat(&link, "")?)
    }
}

/// The directory of a log.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."))
}

pub(super) fn name(path: &Path) -> io::Result<&OsStr> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a file");
    path.file_name().ok_or_else(none)
}

/// Whether nobody but root says where a path leads, whether it is there or not.
pub(super) fn is_roots_alone(path: &Path) -> bool {
    path.is_absolute()
        && path.ancestors().all(|at| match fs::symlink_metadata(at) {
            Ok(found) => found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_way_is_roots_alone_only_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        symlink("/", dir.path().join("link")).unwrap();
        for way in ["open", "open/not/there", "link", "link/not-there"] {
            assert!(!is_roots_alone(&dir.path().join(way)), "{way}");
        }
        assert!(!is_roots_alone(Path::new("not-there")));
        let top = fs::metadata("/").unwrap();
        let is_roots = top.uid() == 0 && top.mode() & 0o022 == 0;
        assert_eq!(is_roots_alone(Path::new("/no-such-place/x")), is_roots);
    }
}
