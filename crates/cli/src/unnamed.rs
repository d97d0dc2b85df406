//! Option files that a program reads although nobody named them: in the current
//! directory, and in the home.
//!
//! Invariant: such a file counts only if nobody but root and the caller could have
//! written it. Its options name directories of code, and root may work in anybody's
//! directory.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::geteuid;

/// Modes by which others write.
const OTHERS_WRITE: u32 = 0o022;

/// The file, open to be read; `None` if there is none.
///
/// # Errors
/// With a line that says why it is not to be used.
pub(crate) fn open_trusted(path: &Path) -> Result<Option<File>, String> {
    let ignored = |why: &str| format!("WARNING: {} is ignored: {why}", path.display());
    let (directory, file) = match open_both(path) {
        Ok(both) => both,
        Err(error) if is_absence(error.kind()) => return Ok(None),
        Err(error) => return Err(ignored(&error.to_string())),
    };
    let about = file
        .metadata()
        .map_err(|error| ignored(&error.to_string()))?;
    if !about.is_file() {
        return Ok(None);
    }
    for (what, of) in [
        ("it", file.metadata()),
        ("its directory", directory.metadata()),
    ] {
        let of = of.map_err(|error| ignored(&error.to_string()))?;
        let owner = of.uid();
        if owner != 0 && owner != geteuid().as_raw() {
            return Err(ignored(&format!("{what} belongs to user {owner}")));
        }
        if of.permissions().mode() & OTHERS_WRITE != 0 {
            return Err(ignored(&format!("others may write {what}")));
        }
    }
    Ok(Some(file))
}

/// Whether an error says that there is no such file for the caller: whose home
/// is another's, as with setpriv, is not told of it at every command.
fn is_absence(error: io::ErrorKind) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error, NotFound | NotADirectory | PermissionDenied)
}

/// The directory of a file, and the file in it: what is looked at is what is
/// read, whoever renames something meanwhile. A pipe is not waited for.
fn open_both(path: &Path) -> io::Result<(File, File)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let look = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let directory: OwnedFd = open(parent, look, Mode::empty())?;
    let read = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = openat(&directory, name, read, Mode::empty())?;
    Ok((directory.into(), file.into()))
}
