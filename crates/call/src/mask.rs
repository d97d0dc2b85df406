//! The umask of one thread's actions.
//!
//! Invariant: the umasks of the other threads, which may run other jobs, stay as
//! they are.

use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, umask};

/// Does something under a mask, on this thread only.
///
/// # Errors
/// When the thread cannot have a mask of its own; nothing is done then.
pub fn under<T>(mask: u32, run: impl FnOnce() -> T) -> std::io::Result<T> {
    unshare(CloneFlags::CLONE_FS)?;
    let _restored = Restored(umask(Mode::from_bits_truncate(mask)));
    Ok(run())
}

/// Sets the mask that was there before, however it ends.
struct Restored(Mode);

impl Drop for Restored {
    fn drop(&mut self) {
        umask(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::under;
    use crate::replace::umask;

    #[test]
    fn other_threads_keep_their_masks() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, theirs) = (dir.path().join("mine"), dir.path().join("theirs"));
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let before = umask();
        let made = mine.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                under(0o077, || {
                    std::fs::create_dir(&made).unwrap();
                    assert_eq!(umask(), 0o077);
                    begin.send(()).unwrap();
                    let _ = ended.recv();
                })
                .unwrap();
                assert_eq!(umask(), before);
            });
            begun.recv().unwrap();
            std::fs::create_dir(&theirs).unwrap();
            drop(end);
        });
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&mine), 0o700);
        assert_eq!(mode(&theirs), 0o777 & !before);
    }
}
