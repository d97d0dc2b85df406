//! The largest file that a process may write, as `ulimit -f` sets it.
//!
//! Invariant: a write beyond it is an error like that of a full disk; commands that
//! we start may handle the signal as they like.

use crate::sys;

/// Has a write beyond the limit fail with `EFBIG`, where the process would
/// otherwise be killed in the middle of whatever it does.
///
/// The signal is caught and not ignored: programs that we run find it as the
/// system sets it, whatever it was when we were started.
pub fn exceeding_is_an_error() {
    sys::catch_file_size_signal();
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use nix::sys::signal::Signal;

    use super::*;

    #[test]
    fn a_write_beyond_the_limit_kills_the_child_and_not_us() {
        exceeding_is_an_error();
        // It would end the test.
        nix::sys::signal::raise(Signal::SIGXFSZ).unwrap();
        let status = Command::new("/bin/sh")
            .args(["-c", "kill -s XFSZ $$"])
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(Signal::SIGXFSZ as i32));
    }
}
