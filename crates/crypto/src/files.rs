//! Files that hold secrets: never readable by others, not even for a moment,
//! and never half written.
//!
//! Invariant: the bytes go into a new file beside the old one that has its
//! final mode before it has any content; a rename puts it in place.

mod directory;

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use directory::{MODE_DIR, ensure_private_dir};

use crate::remnants;

/// Mode of a private key: nobody writes it by accident.
pub const MODE_KEY: u32 = 0o400;
/// Mode of a secret that is rewritten now and then.
pub const MODE_SECRET: u32 = 0o600;
/// What could not be done with which file; the cause is the system's error.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file is larger than any of its kind.
    #[error("{} has more than {bytes_max} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most it may have.
        bytes_max: u64,
    },
    /// The file could not be written.
    #[error("could not write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file could not be removed.
    #[error("could not remove {}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The directory could not be made.
    #[error("could not make the directory {}", path.display())]
    MakeDir {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The directory could not be listed.
    #[error("could not list the directory {}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The directory is behind a symbolic link of a user whose it is not.
    #[error("{} is a symbolic link to a directory of somebody else", path.display())]
    Foreign {
        /// The link.
        path: PathBuf,
    },
    /// The mode of a directory is too open and could not be changed.
    #[error("{} has mode {mode:04o} and could not be set to {wanted:04o}", path.display())]
    Mode {
        /// The directory.
        path: PathBuf,
        /// The mode found.
        mode: u32,
        /// The mode it should have.
        wanted: u32,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl FileError {
    /// The file or directory it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Write { path, .. }
            | Self::Remove { path, .. }
            | Self::MakeDir { path, .. }
            | Self::Foreign { path }
            | Self::List { path, .. }
            | Self::Mode { path, .. } => path,
        }
    }

    /// The kind of the system's error, if there was one.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::TooLarge { .. } | Self::Foreign { .. } => None,
            Self::Read { source, .. }
            | Self::Write { source, .. }
            | Self::Remove { source, .. }
            | Self::MakeDir { source, .. }
            | Self::List { source, .. }
            | Self::Mode { source, .. } => Some(source.kind()),
        }
    }
}

/// How a file is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// Its mode, whatever the umask.
    pub mode: u32,
    /// The user it is given to, if that is not this process' own.
    pub owner: Option<u32>,
    /// Whether it must survive a power cut right after.
    pub durable: bool,
}

impl WriteOptions {
    /// A durable file of this process' own user.
    pub fn new(mode: u32) -> Self {
        Self {
            mode,
            owner: None,
            durable: true,
        }
    }

    /// The same, given to another user.
    #[must_use]
    pub fn owned_by(mut self, owner: Option<u32>) -> Self {
        self.owner = owner;
        self
    }
}

/// Puts a file with this mode in place of `path`, at once and for good.
///
/// # Errors
/// When the directory is missing, read-only or full.
pub fn create_private(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), FileError> {
    write_atomic(path, WriteOptions::new(mode), bytes)
}

/// Puts a file in place of `path`: readers see the old content or the new.
///
/// # Errors
/// When the directory is missing, read-only or full.
pub fn write_atomic(path: &Path, options: WriteOptions, bytes: &[u8]) -> Result<(), FileError> {
    let temp = temp_beside(path);
    fill(&temp, options, bytes)
        .and_then(|owner| {
            fs::rename(&temp, path)?;
            remnants::clear_beside(path, owner);
            match (options.durable, path.parent()) {
                (true, Some(dir)) => sync_dir(dir),
                _ => Ok(()),
            }
        })
        .map_err(|source| {
            let _ = fs::remove_file(&temp);
            FileError::Write {
                path: path.to_owned(),
                source,
            }
        })
}

/// Puts a file at `path` unless there is one: of several processes, on several
/// machines too, one makes it, and nobody ever sees a part of it. False if there
/// was one.
///
/// # Errors
/// When the directory is missing, read-only or full, or its file system has no
/// hard links.
pub fn create_exclusive(
    path: &Path,
    options: WriteOptions,
    bytes: &[u8],
) -> Result<bool, FileError> {
    let temp = temp_beside(path);
    let made = fill(&temp, options, bytes).and_then(|owner| {
        let made = match fs::hard_link(&temp, path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        fs::remove_file(&temp)?;
        remnants::clear_beside(path, owner);
        match (options.durable, path.parent()) {
            (true, Some(dir)) => sync_dir(dir).map(|()| made),
            _ => Ok(made),
        }
    });
    made.map_err(|source| {
        let _ = fs::remove_file(&temp);
        FileError::Write {
            path: path.to_owned(),
            source,
        }
    })
}

/// Reads a whole file of at most `bytes_max` bytes.
///
/// # Errors
/// When it is missing, unreadable or larger.
pub fn read_limited(path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > bytes_max {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            bytes_max,
        });
    }
    Ok(bytes)
}

/// A name for a new file in the same directory. It starts with a dot, which
/// hides it from every listing, and its length does not depend on the file's.
pub fn temp_beside(path: &Path) -> PathBuf {
    // No secret: a file of that name is never taken over. The cryptographic
    // library takes a millisecond to be asked for its first random byte.
    let high = RandomState::new().hash_one(path);
    let low = RandomState::new().hash_one(high) >> 32;
    path.with_file_name(format!("{}{high:016x}{low:08x}", remnants::PREFIX))
}

/// Writes a new file; who owns it.
fn fill(temp: &Path, options: WriteOptions, bytes: &[u8]) -> io::Result<u32> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(options.mode)
        .open(temp)?;
    // The umask may have taken bits away.
    let made = file.metadata()?;
    if made.mode() & 0o7777 != options.mode {
        file.set_permissions(Permissions::from_mode(options.mode))?;
    }
    if options.owner.is_some() {
        fchown(&file, options.owner, None)?;
    }
    file.write_all(bytes)?;
    if options.durable {
        file.sync_all()?;
    }
    Ok(options.owner.unwrap_or_else(|| made.uid()))
}

/// Sees to it that the disk has the names in a directory.
///
/// # Errors
/// When it cannot be opened, or the disk refuses.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    match File::open(dir)?.sync_all() {
        // Some network and FUSE file systems cannot do this to a directory.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_file_is_replaced_whole_and_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        create_private(&path, MODE_KEY, b"one").unwrap();
        create_private(&path, MODE_SECRET, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode(&path), MODE_SECRET);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_many_that_make_a_file_one_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let make = |n: u8| create_exclusive(&path, WriteOptions::new(MODE_KEY), &[n; 100]);
        let made: Vec<bool> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8u8).map(|n| scope.spawn(move || make(n))).collect();
            let all = all.into_iter().map(|one| one.join().unwrap().unwrap());
            all.collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        let winner = made.iter().position(|made| *made).unwrap();
        let winner = u8::try_from(winner).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [winner; 100]);
        assert_eq!(mode(&path), MODE_KEY);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_longest_file_name_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n".repeat(255));
        create_private(&path, MODE_SECRET, b"x").unwrap();
        assert_eq!(read_limited(&path, 1).unwrap(), b"x");
        assert!(matches!(
            read_limited(&path, 0),
            Err(FileError::TooLarge { bytes_max: 0, .. })
        ));
    }

    #[test]
    fn a_missing_directory_is_an_error_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/key");
        let error = create_private(&path, MODE_KEY, b"x").unwrap_err();
        assert_eq!(error.kind(), Some(io::ErrorKind::NotFound));
        assert_eq!(
            error.to_string(),
            format!("could not write {}", path.display())
        );
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        fs::create_dir(&path).unwrap();
        create_private(&path, MODE_KEY, b"x").unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
