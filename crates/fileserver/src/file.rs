//! A file on this machine: its metadata, and opening it safely.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use halite_proto::Value;
use nix::fcntl::OFlag;

/// The ten integers of Python's stat tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Type and permissions.
    pub mode: u32,
    /// Inode.
    pub ino: u64,
    /// Device.
    pub dev: u64,
    /// Names; 0 where only the mode is known, which is all that is told then.
    pub nlink: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Last read, in seconds.
    pub atime: i64,
    /// Last change of the content, in seconds.
    pub mtime: i64,
    /// Last change of anything, in seconds.
    pub ctime: i64,
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        Self {
            mode: metadata.mode(),
            ino: metadata.ino(),
            dev: metadata.dev(),
            nlink: metadata.nlink(),
            uid: metadata.uid(),
            gid: metadata.gid(),
            size: metadata.size(),
            atime: metadata.atime(),
            mtime: metadata.mtime(),
            ctime: metadata.ctime(),
        }
    }
}

impl Stat {
    /// What is known of a file that is not on the disk.
    pub(crate) const fn of_mode(mode: u32, size: u64) -> Self {
        Self {
            mode,
            ino: 0,
            dev: 0,
            nlink: 0,
            uid: 0,
            gid: 0,
            size,
            atime: 0,
            mtime: 0,
            ctime: 0,
        }
    }
}

impl From<Stat> for Value {
    fn from(stat: Stat) -> Self {
        if stat.nlink == 0 {
            return Self::List(vec![stat.mode.into()]);
        }
        Self::List(vec![
            stat.mode.into(),
            stat.ino.into(),
            stat.dev.into(),
            stat.nlink.into(),
            stat.uid.into(),
            stat.gid.into(),
            stat.size.into(),
            stat.atime.into(),
            stat.mtime.into(),
            stat.ctime.into(),
        ])
    }
}

/// What is known of a regular file of `root`. Without `follow`, a file that
/// links lead out of the root to is not there.
pub(crate) fn look(root: &Path, path: &Path, follow: bool) -> io::Result<Metadata> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || !follow && !is_beneath(root, &fs::canonicalize(path)?)? {
        return Err(not_a_file());
    }
    Ok(metadata)
}

/// Opens a file that `look` has seen, and looks again at what was opened.
pub(crate) fn open(root: &Path, path: &Path, follow: bool) -> io::Result<(File, Metadata)> {
    let file = File::options()
        .read(true)
        // Should it have become a pipe meanwhile, opening it does not wait.
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_a_file());
    }
    if !follow {
        let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        if !is_beneath(root, &real)? {
            return Err(not_a_file());
        }
    }
    Ok((file, metadata))
}

fn is_beneath(root: &Path, real: &Path) -> io::Result<bool> {
    Ok(real.starts_with(fs::canonicalize(root)?))
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no such file in the root")
}
