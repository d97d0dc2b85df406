//! Socket files that have their mode from the first moment.
//!
//! A socket is bound inside a fresh directory that only its owner can enter, gets
//! its mode there, and is then renamed to its place. So there is no moment in which
//! the umask decides who may connect, and a file that a dead process left is
//! replaced in one step.
//!
//! Invariant: only the file that was made here is removed again.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{BindError, Endpoint};

/// Bytes of a path in a unix socket address, without its final zero.
pub(crate) const PATH_BYTES_MAX: usize = 107;

/// A bound socket file; removed on drop.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Where it was before it was moved to `path`: its socket knows this place.
    bound_at: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Lets `bind` bind a socket at a path of our choice, gives it `mode` and
    /// moves it to `path`.
    pub(crate) fn bind<T>(
        path: &Path,
        mode: u32,
        bind: impl FnOnce(&Path) -> Result<T, BindError>,
    ) -> Result<(Self, T), BindError> {
        let endpoint = Endpoint::ipc(path);
        if path.as_os_str().as_bytes().len() > PATH_BYTES_MAX {
            return Err(BindError::PathTooLong {
                endpoint,
                max: PATH_BYTES_MAX,
            });
        }
        let file_error = |source| BindError::SocketFile {
            path: path.to_owned(),
            source,
        };
        if is_live(path).map_err(file_error)? {
            return Err(BindError::InUse { endpoint });
        }
        let staging = Staging::create(path).map_err(file_error)?;
        let staged = staging.socket();
        let socket = bind(&staged)?;
        let place = || {
            fs::set_permissions(&staged, fs::Permissions::from_mode(mode))?;
            let metadata = fs::symlink_metadata(&staged)?;
            fs::rename(&staged, path)?;
            Ok((metadata.dev(), metadata.ino()))
        };
        let (device, inode) = place().map_err(file_error)?;
        let file = Self {
            path: path.to_owned(),
            bound_at: staged.clone(),
            device,
            inode,
        };
        Ok((file, socket))
    }
}

impl SocketFile {
    /// Whether somebody has removed the file. Another one in its place is theirs.
    pub(crate) fn is_removed(&self) -> bool {
        fs::symlink_metadata(&self.path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path that its socket was bound at.
    pub(crate) fn bound_at(&self) -> &Path {
        &self.bound_at
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| found.dev() == self.device && found.ino() == self.inode);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a process listens at `path`. A file that is not a socket is an error: it is
/// not ours to replace.
fn is_live(path: &Path) -> io::Result<bool> {
    match UnixStream::connect(path) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(false),
            // What a closed socket says; a regular file says the same.
            io::ErrorKind::ConnectionRefused => {
                let metadata = fs::symlink_metadata(path)?;
                if metadata.is_dir() {
                    Err(io::Error::from(io::ErrorKind::IsADirectory))
                } else {
                    Ok(false)
                }
            }
            // Its backlog is full, so somebody serves it.
            io::ErrorKind::WouldBlock => Ok(true),
            _ => Err(error),
        },
    }
}

/// The directory a socket is bound in; removed on drop with what is left.
struct Staging {
    directory: PathBuf,
}

impl Staging {
    fn create(path: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        const TRIES_MAX: u32 = 100;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut tries = 0;
        loop {
            // Short, so that it fits where the final name fits.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".{:x}.{number:x}", std::process::id());
            let directory = parent.join(name);
            match fs::DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => return Ok(Self { directory }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    tries += 1;
                    if tries == TRIES_MAX {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("s")
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_dir(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn bind(path: &Path, mode: u32) -> Result<(SocketFile, UnixListener), BindError> {
        SocketFile::bind(path, mode, |staged| {
            UnixListener::bind(staged)
                .map_err(|error| BindError::from_io(&Endpoint::ipc(staged), &error))
        })
    }

    #[test]
    fn a_socket_has_its_mode_and_goes_away_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.ipc");
        let (file, listener) = bind(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        UnixStream::connect(&path).unwrap();
        drop((file, listener));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_live_socket_is_in_use_and_a_dead_one_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.ipc");
        let (file, listener) = bind(&path, 0o600).unwrap();
        let error = bind(&path, 0o600).unwrap_err();
        assert!(matches!(error, BindError::InUse { .. }), "{error:?}");
        drop(listener);
        let (_new, _listener) = bind(&path, 0o600).unwrap();
        drop(file);
        UnixStream::connect(&path).expect("the old owner removed the new socket");
    }

    #[test]
    fn a_missing_directory_and_a_long_path_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = bind(&dir.path().join("no/x.ipc"), 0o600).unwrap_err();
        assert!(matches!(error, BindError::SocketFile { .. }), "{error:?}");
        let error = bind(&dir.path().join("x".repeat(120)), 0o600).unwrap_err();
        assert!(matches!(error, BindError::PathTooLong { .. }), "{error:?}");
    }
}
