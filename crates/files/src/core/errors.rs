//! Failures of the system in the words Python has for them, which scripts and
//! people know.

use std::io;
use std::path::Path;

use halite_call::CallError;
use nix::errno::Errno;

/// The number and text of a failure, as `strerror` has them.
pub(crate) fn errno(error: &io::Error) -> (i32, String) {
    let number = match error.kind() {
        io::ErrorKind::PermissionDenied => nix::libc::EACCES,
        _ => nix::libc::EIO,
    };
    let number = error.raw_os_error().unwrap_or(number);
    let text = match error.raw_os_error() {
        Some(number) => strerror(number),
        None => error.to_string(),
    };
    (number, text)
}

/// `strerror`.
pub(crate) fn strerror(number: i32) -> String {
    match Errno::from_raw(number) {
        Errno::ENOSPC => "No space left on device".to_owned(),
        known => known.desc().to_owned(),
    }
}

/// `[Errno 2] No such file or directory: '/path'`.
pub(crate) fn os_text(error: &io::Error, path: &Path) -> String {
    let (number, text) = errno(error);
    format!("[Errno {number}] {text}: '{}'", path.display())
}

/// Like [`os_text`] for what has two paths.
pub(crate) fn os_text_two(error: &io::Error, from: &Path, to: &Path) -> String {
    let (number, text) = errno(error);
    format!(
        "[Errno {number}] {text}: '{}' -> '{}'",
        from.display(),
        to.display()
    )
}

/// The failure as the exception that Python would raise.
pub(crate) fn os_error(error: &io::Error, path: &Path) -> CallError {
    CallError::exception(os_kind(error), os_text(error, path))
}

fn os_kind(error: &io::Error) -> &'static str {
    match Some(Errno::from_raw(errno(error).0)) {
        Some(Errno::ENOENT) => "FileNotFoundError",
        Some(Errno::EEXIST) => "FileExistsError",
        Some(Errno::EISDIR) => "IsADirectoryError",
        Some(Errno::ENOTDIR) => "NotADirectoryError",
        Some(Errno::EACCES | Errno::EPERM) => "PermissionError",
        _ => "OSError",
    }
}
