//! Opening files that are there already.
//!
//! The owner of a directory can put a named pipe where a state expects a file.
//! Opening one waits for the other end, in the kernel, where neither a time
//! limit nor `saltutil.kill_job` reaches it. Invariant: nothing here waits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file to read it.
///
/// # Errors
/// When it cannot be opened, or is a named pipe.
pub(crate) fn to_read(path: &Path) -> io::Result<File> {
    with(OpenOptions::new().read(true), path)
}

/// Opens a file to change it where it is.
///
/// # Errors
/// As [`to_read`].
pub(crate) fn to_write(path: &Path) -> io::Result<File> {
    with(OpenOptions::new().write(true), path)
}

/// Opens a file to read it and to write at its end.
///
/// # Errors
/// As [`to_read`].
pub(crate) fn to_append(path: &Path) -> io::Result<File> {
    with(OpenOptions::new().read(true).append(true), path)
}

/// The content of a file.
///
/// # Errors
/// As [`to_read`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = to_read(path)?;
    let bytes = file.metadata().map_or(0, |data| data.len());
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::from_raw_os_error(nix::libc::ESPIPE));
    }
    Ok(file)
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
