//! A name in a directory that is held open, and the operations on it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{SFlag, mknodat};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::held::Held;
use super::walk;

/// Where something is, or is to be: a name in a directory, whatever the path
/// that was followed leads to by now.
#[derive(Debug)]
pub struct HeldName {
    directory: OwnedFd,
    name: OsString,
    path: PathBuf,
    is_kernels: bool,
}

impl HeldName {
    pub(super) fn new(directory: OwnedFd, name: OsString, path: &Path) -> Self {
        Self {
            directory,
            name,
            path: path.to_owned(),
            is_kernels: false,
        }
    }

    /// Marks a link that only the kernel can follow, as in `/proc/self/fd`.
    pub(super) fn of_the_kernel(mut self) -> Self {
        self.is_kernels = true;
        self
    }

    /// The place that has this path; a link there is meant itself.
    ///
    /// # Errors
    /// When its directory is not there, or a link on the way is not followed.
    pub fn of(path: &Path) -> io::Result<Self> {
        walk::place(path, false)
    }

    /// The place that a path leads to, which need not be there yet; a link
    /// there is followed.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn followed(path: &Path) -> io::Result<Self> {
        walk::place(path, true)
    }

    /// The place of `path` below `root`, which may be a link itself; no link
    /// is followed on the way down.
    ///
    /// # Errors
    /// When a part of the way is missing or is a link.
    pub fn below(root: &Path, path: &Path) -> io::Result<Self> {
        walk::below(root, path)
    }

    pub(crate) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// What keeps a link from being followed that has come since.
    pub(super) fn flags(&self) -> OFlags {
        match self.is_kernels {
            true => OFlags::CLOEXEC,
            false => OFlags::CLOEXEC | OFlags::NOFOLLOW,
        }
    }

    /// Whether it is in the directory `root`, or in one below it.
    ///
    /// # Errors
    /// When `root` is not there.
    pub fn is_inside(&self, root: &Path) -> io::Result<bool> {
        let root = walk::directory(root)?;
        match (real(&root), real(&self.directory)) {
            (Some(root), Some(directory)) => Ok(directory.starts_with(root)),
            // No /proc here: no more is known than that it is this one.
            _ => {
                let id = |data: rustix::fs::Stat| (data.st_dev, data.st_ino);
                let root = id(rustix::fs::fstat(&root)?);
                Ok(id(rustix::fs::fstat(&self.directory)?) == root)
            }
        }
    }

    /// Its path without links, as far as it can be told.
    pub fn real_path(&self) -> PathBuf {
        match real(&self.directory) {
            Some(directory) if self.name == "." => directory,
            Some(directory) => directory.join(&self.name),
            None => self.path.clone(),
        }
    }

    /// Takes hold of what is there.
    ///
    /// # Errors
    /// When nothing is.
    pub fn hold(&self) -> io::Result<Held> {
        let flags = OFlags::PATH | self.flags();
        let place = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty())?;
        Ok(Held::of(place.into(), &self.path))
    }

    /// What is there.
    ///
    /// # Errors
    /// When nothing is.
    pub fn data(&self) -> io::Result<Metadata> {
        self.hold()?.data()
    }

    /// Opens the file there, without waiting for anybody.
    ///
    /// # Errors
    /// When it cannot be opened, or is a named pipe.
    pub(super) fn open(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::NONBLOCK | self.flags();
        let mode = Mode::from_raw_mode(mode);
        let file = File::from(rustix::fs::openat(
            &self.directory,
            &self.name,
            flags,
            mode,
        )?);
        if file.metadata()?.file_type().is_fifo() {
            return Err(Errno::SPIPE.into());
        }
        Ok(file)
    }

    /// Opens the file there to read it.
    ///
    /// # Errors
    /// When it cannot be opened, or is a link or a named pipe.
    pub fn open_to_read(&self) -> io::Result<File> {
        self.open(OFlags::RDONLY, 0)
    }

    /// Makes a directory there.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_directory(&self, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode);
        Ok(rustix::fs::mkdirat(&self.directory, &self.name, mode)?)
    }

    /// Makes a link there.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_link(&self, target: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.directory, &self.name)?)
    }

    /// Sets the time of the last change, of a link itself.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_modified(&self, seconds: i64) -> io::Result<()> {
        let time = Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(
            &self.directory,
            &self.name,
            &times,
            flags,
        )?)
    }

    /// Makes a device or pipe there.
    ///
    /// # Errors
    /// When something is there, or the directory does not take it.
    pub fn make_node(
        &self,
        kind: SFlag,
        mode: nix::sys::stat::Mode,
        device: u64,
    ) -> io::Result<()> {
        Ok(mknodat(
            &self.directory,
            self.name.as_os_str(),
            kind,
            mode,
            device,
        )?)
    }

    /// Gives the file here another name, too.
    ///
    /// # Errors
    /// What the system says.
    pub fn link_to(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            &self.directory,
            &self.name,
            &to.directory,
            &to.name,
            AtFlags::empty(),
        )?)
    }

    /// Moves what is here.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename_to(&self, to: &Self) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            &self.directory,
            &self.name,
            &to.directory,
            &to.name,
        )?)
    }

    /// Removes what is here, if it is no directory.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self) -> io::Result<()> {
        let flags = AtFlags::empty();
        Ok(rustix::fs::unlinkat(&self.directory, &self.name, flags)?)
    }

    /// Removes the directory here, if it is empty.
    pub(super) fn remove_directory(&self) -> io::Result<()> {
        let flags = AtFlags::REMOVEDIR;
        Ok(rustix::fs::unlinkat(&self.directory, &self.name, flags)?)
    }

    /// Removes it with all that is in it. What is gone already is no failure.
    ///
    /// # Errors
    /// When something does not go.
    pub fn remove(&self) -> io::Result<()> {
        let removed = match self.remove_file() {
            Err(error)
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::ISDIR | Errno::PERM)
                ) =>
            {
                self.remove_tree()
            }
            removed => removed,
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Removes the directory here with all that is in it.
    pub(super) fn remove_tree(&self) -> io::Result<()> {
        let own = own_path(&self.directory);
        // No /proc here, as in a bare root.
        if !own.exists() {
            return std::fs::remove_dir_all(&self.path);
        }
        std::fs::remove_dir_all(own.join(&self.name))
    }
}

fn own_path(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

fn real(directory: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(own_path(directory)).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
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
            assert!(HeldName::below(&root, &root.join(path)).is_err(), "{path}");
        }
        assert!(HeldName::below(&root, &root.join("moved/../x")).is_err());
        assert!(HeldName::below(&root, &outside).is_err());
        let link = root.join("sub");
        let found = HeldName::below(&root, &link).unwrap();
        assert!(found.data().unwrap().is_symlink());
        found.remove().unwrap();
        assert!(outside.join("deep/file").exists());
        let moved = root.join("moved");
        HeldName::below(&root, &moved).unwrap().remove().unwrap();
        HeldName::below(&root, &moved).unwrap().remove().unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }

    #[test]
    fn a_path_leads_where_the_kernel_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        symlink("a", root.join("one")).unwrap();
        symlink("../one/b", root.join("a/two")).unwrap();
        symlink(root.join("a/two/file"), root.join("three")).unwrap();
        symlink("four", root.join("four")).unwrap();
        symlink("a/new", root.join("five")).unwrap();
        for path in [
            "a/b/file",
            "one/b/file",
            "a/two/file",
            "three",
            "one/../three",
        ] {
            let place = HeldName::followed(&root.join(path)).unwrap();
            assert_eq!(place.real_path(), root.join("a/b/file"), "{path}");
            assert!(place.is_inside(&root.join("one")).unwrap());
            assert!(
                !place
                    .is_inside(&root.join("a/two/file/.."))
                    .is_ok_and(|it| it)
            );
        }
        let of = |path: &str| HeldName::of(&root.join(path));
        assert!(of("three").unwrap().data().unwrap().is_symlink());
        assert_eq!(of("one/two").unwrap().real_path(), root.join("a/two"));
        let new = HeldName::followed(&root.join("five")).unwrap();
        assert_eq!(new.real_path(), root.join("a/new"));
        let four = HeldName::followed(&root.join("four")).unwrap_err();
        assert_eq!(four.raw_os_error(), Some(nix::libc::ELOOP));
        assert!(of("a/b/file/x").is_err());
        assert!(of("none/x").is_err());
        assert_eq!(
            HeldName::followed(Path::new("/")).unwrap().real_path(),
            Path::new("/")
        );
        assert!(HeldName::of(Path::new("")).is_err());
        assert!(HeldName::of(Path::new("here")).is_ok());
        let here = HeldName::followed(Path::new("/proc/self/fd/0"));
        assert!(here.unwrap().hold().is_ok());
    }
}
