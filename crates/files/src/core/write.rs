//! Replacing a file in one step.
//!
//! The new content is written to a file without a name (or one beside the
//! target), takes over owner, mode and extended attributes of the old file,
//! and then gets the name. Invariant: whenever the process dies, the name
//! leads to the whole old or the whole new content; and a link that is put in
//! the way while we work is replaced, not followed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

/// What is to be in a file.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What is in this file.
    File(PathBuf),
}

impl Body {
    /// All of it.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => fs::read(path),
        }
    }

    fn write_to(&self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => file.write_all(bytes),
            Self::File(path) => io::copy(&mut File::open(path)?, file).map(|_| ()),
        }
    }

    /// Whether a file holds exactly this.
    pub(crate) fn is_in(&self, path: &Path) -> io::Result<bool> {
        match self {
            Self::Bytes(bytes) => {
                let size = fs::metadata(path)?.len();
                if size != bytes.len() as u64 {
                    return Ok(false);
                }
                same(&mut File::open(path)?, &mut bytes.as_slice())
            }
            Self::File(own) => {
                if fs::metadata(path)?.len() != fs::metadata(own)?.len() {
                    return Ok(false);
                }
                same(&mut File::open(path)?, &mut File::open(own)?)
            }
        }
    }
}

fn same(one: &mut dyn Read, two: &mut dyn Read) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let got = one.read(&mut a)?;
        if got == 0 {
            return Ok(two.read(&mut b)? == 0);
        }
        if two.read_exact(&mut b[..got]).is_err() || a[..got] != b[..got] {
            return Ok(false);
        }
    }
}

/// Replaces the file `to`, which keeps its owner, mode and attributes; a new
/// one gets `mode`.
pub(crate) fn replace(to: &Path, body: &Body, mode: u32) -> io::Result<()> {
    let old = fs::symlink_metadata(to)
        .ok()
        .filter(|old| old.is_file())
        .map(|data| (data, File::open(to).ok()));
    put(to, mode, old, |file| body.write_to(file))
}

/// Like [`replace`] for content that is made on the way.
pub(crate) fn replace_with(
    to: &Path,
    mode: u32,
    write: impl FnMut(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let old = fs::symlink_metadata(to)
        .ok()
        .filter(|old| old.is_file())
        .map(|data| (data, File::open(to).ok()));
    put(to, mode, old, write)
}

/// Changes the content of a file that is there. With other names for the same
/// file (hard links) it is written in place, so that it stays one file; else
/// replaced in one step.
pub(crate) fn update(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    let data = fs::metadata(&real)?;
    if data.nlink() > 1 {
        return in_place(&real, bytes);
    }
    match replace(
        &real,
        &Body::Bytes(bytes.to_vec()),
        data.permissions().mode(),
    ) {
        // A file that something is mounted on cannot be replaced.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => in_place(&real, bytes),
        done => done,
    }
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

type Old = Option<(Metadata, Option<File>)>;

fn put(
    to: &Path,
    mode: u32,
    old: Old,
    mut write: impl FnMut(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let name = to
        .file_name()
        .ok_or_else(|| io::Error::from_raw_os_error(nix::libc::EISDIR))?;
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = rustix::fs::open(
        parent,
        OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut fresh = Fresh::create(&directory)?;
    write(&mut fresh.file)?;
    dress(&fresh.file, mode, old.as_ref())?;
    fresh.name(name)?;
    Ok(())
}

/// Gives the new file what the old one had.
fn dress(file: &File, mode: u32, old: Option<&(Metadata, Option<File>)>) -> io::Result<()> {
    let Some((data, opened)) = old else {
        return file.set_permissions(fs::Permissions::from_mode(mode & 0o7777));
    };
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (data.uid(), data.gid()) {
        // Who may not give files away keeps his own; the mode stays safe.
        let _ = std::os::unix::fs::fchown(file, Some(data.uid()), Some(data.gid()));
    }
    if let Some(opened) = opened {
        copy_attributes(opened, file);
    }
    file.set_permissions(fs::Permissions::from_mode(
        data.permissions().mode() & 0o7777,
    ))
}

/// Extended attributes (labels, ACLs, capabilities) of one file to another;
/// what the file system does not take is left out.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0_u8; 64 << 10];
    let Ok(length) = rustix::fs::flistxattr(from, names.as_mut_slice()) else {
        return;
    };
    for name in names[..length].split(|byte| *byte == 0) {
        if name.is_empty() {
            continue;
        }
        let Ok(name) = std::ffi::CString::new(name) else {
            continue;
        };
        let mut value = vec![0_u8; 64 << 10];
        if let Ok(length) = rustix::fs::fgetxattr(from, name.as_c_str(), value.as_mut_slice()) {
            let flags = rustix::fs::XattrFlags::empty();
            let _ = rustix::fs::fsetxattr(to, name.as_c_str(), &value[..length], flags);
        }
    }
}

/// A file that is not under its name yet.
struct Fresh<'d> {
    directory: &'d OwnedFd,
    file: File,
    temporary: Option<String>,
}

impl<'d> Fresh<'d> {
    fn create(directory: &'d OwnedFd) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let private = Mode::RUSR | Mode::WUSR;
        if let Ok(file) = rustix::fs::openat(directory, ".", flags, private) {
            return Ok(Self {
                directory,
                file: file.into(),
                temporary: None,
            });
        }
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let temporary = temporary_name();
        let file = rustix::fs::openat(directory, temporary.as_str(), flags, private)?;
        Ok(Self {
            directory,
            file: file.into(),
            temporary: Some(temporary),
        })
    }

    /// Gives the file its name; what has the name now is replaced.
    fn name(mut self, name: &std::ffi::OsStr) -> io::Result<()> {
        if self.temporary.is_none() {
            let own = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
            let link = |to: &std::ffi::OsStr| {
                rustix::fs::linkat(
                    rustix::fs::CWD,
                    own.as_str(),
                    self.directory,
                    to,
                    AtFlags::SYMLINK_FOLLOW,
                )
            };
            match link(name) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::EXIST) => {
                    let temporary = temporary_name();
                    link(temporary.as_ref())?;
                    self.temporary = Some(temporary);
                }
                // No /proc here: by way of a file with a name.
                Err(_) => return self.name_by_copy(name),
            }
        }
        self.rename(name)
    }

    fn rename(&mut self, name: &std::ffi::OsStr) -> io::Result<()> {
        let Some(temporary) = &self.temporary else {
            return Ok(());
        };
        rustix::fs::renameat(self.directory, temporary.as_str(), self.directory, name)?;
        self.temporary = None;
        Ok(())
    }

    fn name_by_copy(&mut self, name: &std::ffi::OsStr) -> io::Result<()> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let temporary = temporary_name();
        let private = Mode::RUSR | Mode::WUSR;
        let mut file: File =
            rustix::fs::openat(self.directory, temporary.as_str(), flags, private)?.into();
        self.temporary = Some(temporary);
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.file, &mut file)?;
        let data = self.file.metadata()?;
        let _ = std::os::unix::fs::fchown(&file, Some(data.uid()), Some(data.gid()));
        copy_attributes(&self.file, &file);
        file.set_permissions(data.permissions())?;
        self.rename(name)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(self.directory, temporary.as_str(), AtFlags::empty());
        }
    }
}

fn temporary_name() -> String {
    let random = halite_crypto::random_bytes::<8>();
    let mut name = String::from(".halite-");
    for byte in random {
        name.push_str(&format!("{byte:02x}"));
    }
    name.push_str(&std::process::id().to_string());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Body {
        Body::Bytes(text.into())
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        replace(&path, &bytes("one"), 0o640).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        replace(&path, &bytes("two"), 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_way_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, path) = (dir.path().join("victim"), dir.path().join("f"));
        fs::write(&victim, "safe").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        replace(&path, &bytes("new"), 0o644).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"safe");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "old").unwrap();
        let full = || io::Error::from_raw_os_error(nix::libc::ENOSPC);
        let failed = replace_with(&path, 0o644, |file| {
            file.write_all(b"half")?;
            Err(full())
        });
        assert_eq!(failed.unwrap_err().raw_os_error(), full().raw_os_error());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn hard_links_stay_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("1"), dir.path().join("2"));
        fs::write(&one, "long old text").unwrap();
        fs::hard_link(&one, &two).unwrap();
        update(&one, b"new").unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"new");
    }

    #[test]
    fn contents_are_compared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "abc").unwrap();
        assert!(bytes("abc").is_in(&path).unwrap());
        assert!(!bytes("abd").is_in(&path).unwrap());
        assert!(!bytes("ab").is_in(&path).unwrap());
    }
}
