//! The process group of code that is not meant to end: what is left of it ends with its
//! leader.
//!
//! Invariant: the group is signalled only while its leader has not been waited for, so
//! that its number is that of nobody else.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// A group that is killed when its leader ends, or before. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// The group of a child of this process that leads one. Its end is waited for, since
    /// what it has started may hold its pipes, so that nobody who reads them would know.
    pub(crate) fn of(leader: Pid) -> Self {
        let group = Self(Arc::new(Mutex::new(Some(leader))));
        let watched = group.clone();
        let thread = thread::Builder::new().name("python-end".to_owned());
        // Without the thread it is killed when the end of the pipes is seen.
        let _ = thread.spawn(move || {
            wait_for_end(leader);
            watched.kill();
        });
        group
    }

    /// Kills it, unless that is done. Its leader may be waited for afterwards.
    pub(crate) fn kill(&self) {
        let mut group = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = group.take() {
            // That nothing is left of it is no failure.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

/// Waits until a child has ended, and leaves it to be waited for, if it is still there.
fn wait_for_end(child: Pid) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(child), flags) == Err(Errno::EINTR) {}
}
