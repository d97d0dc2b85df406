//! The system's errors in Python's words, which scripts and people know. All
//! functions use this file.

use std::io;
use std::path::Path;

use halite_proto::python::{os_error_class, str_repr, strerror};
use nix::libc::{EACCES, EIO};

use crate::error::CallError;

/// The number and text of a failure, as `strerror` has them.
#[must_use]
pub fn errno(error: &io::Error) -> (i32, String) {
    match error.raw_os_error() {
        Some(number) => (number, strerror(number)),
        // What our own code refuses has a text of its own.
        None if error.kind() == io::ErrorKind::PermissionDenied => (EACCES, error.to_string()),
        None => (EIO, error.to_string()),
    }
}

/// `[Errno 2] No such file or directory: '/path'`.
#[must_use]
pub fn os_text(error: &io::Error, path: impl AsRef<Path>) -> String {
    let (number, text) = errno(error);
    format!("[Errno {number}] {text}: {}", shown(path.as_ref()))
}

/// Like [`os_text`] for what has two paths.
#[must_use]
pub fn os_text_two(error: &io::Error, from: &Path, to: &Path) -> String {
    let (number, text) = errno(error);
    format!("[Errno {number}] {text}: {} -> {}", shown(from), shown(to))
}

/// The failure as the exception that Python would raise.
#[must_use]
pub fn os_error(error: &io::Error, path: impl AsRef<Path>) -> CallError {
    CallError::exception(os_error_class(errno(error).0), os_text(error, path))
}

fn shown(path: &Path) -> String {
    str_repr(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_in_python() {
        let missing = io::Error::from_raw_os_error(nix::libc::ENOENT);
        let error = os_error(&missing, "/it's");
        let text = "FileNotFoundError: [Errno 2] No such file or directory: \"/it's\"";
        assert_eq!(error.to_string(), text);
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, "a link of another user");
        let text = "[Errno 13] a link of another user: '/a'";
        assert_eq!(os_text(&refused, "/a"), text);
    }
}
