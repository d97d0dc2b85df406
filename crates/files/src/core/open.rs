//! Opens existing files.
//!
//! The owner of a directory can put a named pipe where a state expects a file.
//! Opening one waits for the other end, in the kernel, where neither a time limit
//! nor `saltutil.kill_job` reaches it. Invariant: nothing here waits.
//!
//! A file that is only read may be behind any link; a file that will be changed is
//! opened by [`halite_call::paths`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

pub(crate) use halite_call::paths::{open_to_append as to_append, open_to_write as to_write};

/// Opens a file to look at it.
///
/// # Errors
/// When it cannot be opened, or is a named pipe.
pub(crate) fn to_read(path: &Path) -> io::Result<File> {
    let flags = nix::libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::from_raw_os_error(nix::libc::ESPIPE));
    }
    Ok(file)
}

/// The content of a file.
///
/// # Errors
/// As [`to_read`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    content(to_read(path)?)
}

/// The content of a file that is going to be changed or handed on.
///
/// # Errors
/// As [`to_read`]; also when a link on the way is not followed.
pub(crate) fn read_to_change(path: &Path) -> io::Result<Vec<u8>> {
    content(halite_call::paths::open_to_read(path)?)
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let bytes = file.metadata().map_or(0, |data| data.len());
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_is_an_error_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for opened in [to_read(&pipe), to_append(&pipe)] {
            assert_eq!(opened.unwrap_err().raw_os_error(), Some(nix::libc::ESPIPE));
        }
        // Nobody reads it.
        assert_eq!(
            to_write(&pipe).unwrap_err().raw_os_error(),
            Some(nix::libc::ENXIO)
        );
        assert!(read(&pipe).is_err());
        let file = dir.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
    }
}
