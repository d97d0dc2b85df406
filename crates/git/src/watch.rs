//! Watches a git: it is killed when it is no longer wanted or has lost its lock,
//! and a fetch also when it does nothing or fetches too much.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::GitError;
use crate::interrupted::processes;
use crate::limits::{FETCH_WATCH, IDLE_LOOKS, LOCK_RENEWED_EVERY, Limits};
use crate::lock::Lock;

/// What is watched, and what came of it.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) lock: Lock,
    pub(crate) limits: Limits,
    pub(crate) stop: Arc<AtomicBool>,
    killed: Mutex<Option<GitError>>,
}

impl Watch {
    pub(crate) fn new(lock: Lock, limits: Limits, stop: Arc<AtomicBool>) -> Self {
        Self {
            lock,
            limits,
            stop,
            killed: Mutex::default(),
        }
    }

    /// Watches a process group until what is returned is dropped. Where it
    /// fetches into the repository `fetched`, that may not grow too large, and
    /// the group not be idle.
    pub(crate) fn over(self: &Arc<Self>, group: i32, fetched: Option<&Path>) -> Watching {
        let packs = fetched.map(|git_dir| git_dir.join("objects/pack"));
        let (end, ended) = channel::<()>();
        let watch = Arc::clone(self);
        let thread = thread::spawn(move || {
            let mut seen = Seen::new(group);
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(FETCH_WATCH) {
                if let Some(why) = watch.objection(&mut seen, packs.as_deref()) {
                    watch.killed().replace(why);
                    // It may have ended meanwhile.
                    killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
                    return;
                }
            }
        });
        Watching {
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// Why the process group was killed, if it was.
    pub(crate) fn verdict(&self) -> Option<GitError> {
        self.killed().take()
    }

    fn killed(&self) -> std::sync::MutexGuard<'_, Option<GitError>> {
        self.killed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn objection(&self, seen: &mut Seen, packs: Option<&Path>) -> Option<GitError> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(GitError::Stopped);
        }
        if seen.renewed.elapsed() >= LOCK_RENEWED_EVERY {
            seen.renewed = Instant::now();
            if !self.lock.renew() {
                return Some(GitError::LockLost);
            }
        }
        let packs = packs?;
        let limit = self.limits.repository_bytes;
        if size(packs) > limit {
            return Some(GitError::Large { limit });
        }
        let limit = self.limits.idle;
        (seen.idle(limit / IDLE_LOOKS)? >= limit).then_some(GitError::Idle { limit })
    }
}

/// Ends the watching.
pub(crate) struct Watching {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// What was last seen of a process group.
struct Seen {
    group: i32,
    activity: u64,
    since: Instant,
    looked: Instant,
    renewed: Instant,
}

impl Seen {
    fn new(group: i32) -> Self {
        Self {
            group,
            activity: 0,
            since: Instant::now(),
            looked: Instant::now(),
            renewed: Instant::now(),
        }
    }

    /// How long it has neither read nor computed anything; `None` if that was looked
    /// at within `every`: it means a look at all processes of the machine.
    fn idle(&mut self, every: Duration) -> Option<Duration> {
        if self.looked.elapsed() < every {
            return None;
        }
        self.looked = Instant::now();
        let activity = activity(self.group);
        if activity != self.activity {
            self.activity = activity;
            self.since = Instant::now();
        }
        Some(self.since.elapsed())
    }
}

/// A number that changes when a process of the group reads or computes.
fn activity(group: i32) -> u64 {
    let all = processes();
    let of_group = all.iter().filter(|process| process.group == group);
    let of_each = of_group.map(|process| {
        let io = fs::read_to_string(process.dir().join("io")).unwrap_or_default();
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
        let read: u64 = read.and_then(|read| read.parse().ok()).unwrap_or_default();
        read.wrapping_add(process.ticks)
    });
    of_each.fold(0, u64::wrapping_add)
}

/// The bytes of the files in a directory.
pub(crate) fn size(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
    sizes.sum()
}
