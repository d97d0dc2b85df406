//! What lies below a directory, reached without following a link on the way.
//!
//! A state that goes through a tree first looks at it and then changes it.
//! Invariant: a directory that has been swapped for a link in between leads
//! nowhere; nothing outside of the tree is changed or removed.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::held::Held;

/// An entry of a directory below a root.
pub(crate) struct Beneath<'p> {
    directory: OwnedFd,
    name: &'p OsStr,
    path: &'p Path,
}

impl<'p> Beneath<'p> {
    /// Goes from `root`, which may be a link itself, to the directory that
    /// `path` is in.
    pub(crate) fn find(root: &Path, path: &'p Path) -> io::Result<Self> {
        let wrong = || io::Error::from_raw_os_error(nix::libc::EINVAL);
        let below = path.strip_prefix(root).map_err(|_| wrong())?;
        let name = below.file_name().ok_or_else(wrong)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut directory = rustix::fs::open(root, flags, Mode::empty())?;
        for part in below.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else {
                return Err(wrong());
            };
            let flags = flags | OFlags::NOFOLLOW;
            directory = rustix::fs::openat(&directory, part, flags, Mode::empty())?;
        }
        Ok(Self {
            directory,
            name,
            path,
        })
    }

    /// Takes hold of it; of the link, if it is one.
    pub(crate) fn hold(&self) -> io::Result<Held> {
        Held::open_at(&self.directory, self.name, self.path)
    }

    /// Removes it with all that is in it. What is gone already is no failure.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let removed = match rustix::fs::unlinkat(&self.directory, self.name, AtFlags::empty()) {
            Err(rustix::io::Errno::ISDIR | rustix::io::Errno::PERM) => self.remove_tree(),
            removed => removed.map_err(io::Error::from),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn remove_tree(&self) -> io::Result<()> {
        let own = PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()));
        // No /proc here, as in a bare root.
        if !own.exists() {
            return fs::remove_dir_all(self.path);
        }
        fs::remove_dir_all(own.join(self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_that_became_a_link_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir_all(outside.join("deep")).unwrap();
        fs::write(outside.join("deep/file"), "").unwrap();
        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        symlink(&outside, root.join("sub")).unwrap();
        for path in ["sub/deep", "sub/deep/file"] {
            assert!(Beneath::find(&root, &root.join(path)).is_err(), "{path}");
        }
        assert!(Beneath::find(&root, &root.join("moved/../x")).is_err());
        assert!(Beneath::find(&root, &outside).is_err());
        let link = root.join("sub");
        let found = Beneath::find(&root, &link).unwrap();
        assert!(found.hold().unwrap().data().unwrap().is_symlink());
        found.remove().unwrap();
        assert!(outside.join("deep/file").exists());
        let moved = root.join("moved");
        Beneath::find(&root, &moved).unwrap().remove().unwrap();
        Beneath::find(&root, &moved).unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
}
