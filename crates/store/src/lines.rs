//! Files to which several writers append lines.
//!
//! Invariant: an appended line is there completely or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Appends whole lines or nothing, one writer at a time, Salt's own included;
/// a file that is not there yet is made with this mode.
///
/// # Errors
/// When the file cannot be made, locked or written.
pub fn append_lines(path: &Path, mode: u32, lines: &[u8]) -> io::Result<()> {
    let mut how = OpenOptions::new();
    // A pipe that nobody reads is an error instead of a wait without an end.
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut file = how
        .append(true)
        .create(true)
        .mode(mode)
        .custom_flags(flags)
        .open(path)?;
    file.lock()?;
    let before = file.metadata()?.len();
    // The lock goes with the file.
    file.write_all(lines).inspect_err(|_| cut(&file, before))
}

fn cut(file: &File, len: u64) {
    // Half a line would spoil the next one; on a full disk this still works,
    // and on what is no file there is nothing to cut.
    let _ = file.set_len(len);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const MODE: u32 = 0o640;

    #[test]
    fn lines_follow_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events");
        append_lines(&path, MODE, b"{\"a\": 1}\n").unwrap();
        append_lines(&path, MODE, b"{\"a\": 2}\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"a\": 1}\n{\"a\": 2}\n");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !MODE, 0, "{mode:o}");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        assert!(append_lines(Path::new("/dev/full"), MODE, b"{}\n").is_err());
    }
}
