//! The job a function runs in, and how it is ended from outside.
//!
//! Invariant: every process group that a job starts is registered with its
//! [`Cancel`] while it lives, so that a killed job leaves no children behind.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::Map;
use halite_proto::request::Commits;
use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::environment::Environment;
use crate::limits::{NOTE_CHARS_MAX, NOTES_MAX};
use crate::signatures::Signatures;

/// What is known about the call beside the function and its arguments.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The publication as it came (`jid`, `tgt`, `user`, ...); functions that
    /// take `**kwargs` see each field as `__pub_<field>`. Empty for calls that
    /// were not published (`salt-call`).
    pub load: Map,
    /// Ends the job from outside.
    pub cancel: Cancel,
    /// The state that the call carries out, in a state run.
    pub state: Option<Arc<StateScope>>,
    /// The environment that functions of the job see and commands start with.
    pub env: Environment,
    /// What people should know beside the return.
    pub notes: Notes,
    /// The commits that the files of its state runs came from.
    pub commits: UsedCommits,
    /// The signatures of functions that the job has called.
    pub signatures: Signatures,
}

/// What the log says and whoever asked for the job should read, too: where
/// mistakes are. Clones share it. The first [`NOTES_MAX`] count.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Adds a note; one that is there already is not added again.
    pub fn add(&self, note: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES_MAX && !notes.iter().any(|known| known == note) {
            notes.push(note.chars().take(NOTE_CHARS_MAX).collect());
        }
    }

    /// The notes, which are no longer here.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The commits that the files of a job's state runs came from. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct UsedCommits(Arc<Mutex<Commits>>);

impl UsedCommits {
    /// Adds those of a run.
    pub fn add(&self, commits: &Commits) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(commits);
    }

    /// All of them.
    pub fn all(&self) -> Commits {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What a function knows of the state run it is part of.
#[derive(Debug, Default)]
pub struct StateScope {
    /// Only say what would change (`test=True`), for this state.
    pub test: bool,
    /// The low chunk (`__low__`).
    pub low: Map,
    /// Names the run (`__instance_id__`).
    pub run_id: String,
    /// What functions keep for the length of the run (`__context__`).
    pub memo: Arc<Mutex<Map>>,
    /// The results of the states that this one watches, by tag, when it is
    /// called to react to them (`__running__` of `mod_watch`).
    pub watched: Map,
}

impl Job {
    /// A job of the publication `load`.
    pub fn published(load: Map) -> Self {
        Self {
            load,
            ..Self::default()
        }
    }

    /// The job's id, if it has one.
    pub fn jid(&self) -> Option<&str> {
        self.load.get("jid").and_then(halite_proto::Value::as_str)
    }
}

/// The way to end a job: the minion holds one end, the function the other.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ended_by: Option<i32>,
    is_killed: bool,
    over: Option<Over>,
    groups: Vec<i32>,
}

/// How a job came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its function has returned.
    Returned,
    /// It was killed and goes on all the same: nobody waits for it any longer.
    GivenUp,
}

impl Cancel {
    /// Sends `signal` to the job's process groups. A signal that ends a
    /// process also ends the job: it is marked, and its sleeps wake up.
    pub fn signal(&self, signal: i32) {
        let mut state = self.state();
        if ends_a_process(signal) {
            state.ended_by.get_or_insert(signal);
        }
        state.is_killed |= Signal::try_from(signal) == Ok(Signal::SIGKILL);
        for group in &state.groups {
            send(*group, signal);
        }
        drop(state);
        self.0.changed.notify_all();
    }

    /// The signal that ended the job, if one did.
    pub fn ended_by(&self) -> Option<i32> {
        self.state().ended_by
    }

    /// Whether the job was killed, which leaves it no time.
    pub fn is_killed(&self) -> bool {
        self.state().is_killed
    }

    /// Says that the job is over; `false` if it was over before.
    #[must_use]
    pub fn close(&self, over: Over) -> bool {
        let mut state = self.state();
        let is_first = state.over.is_none();
        state.over.get_or_insert(over);
        is_first
    }

    /// Whether nobody waits for the job any longer.
    pub fn is_given_up(&self) -> bool {
        self.state().over == Some(Over::GivenUp)
    }

    /// Waits for `duration`; `false` if the job was ended before it was over.
    pub fn sleep(&self, duration: Duration) -> bool {
        let until = Instant::now().checked_add(duration);
        let mut state = self.state();
        loop {
            if state.ended_by.is_some() {
                return false;
            }
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if left.is_zero() {
                return true;
            }
            state = self
                .0
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Puts a process group under this job's control until the guard is
    /// dropped. If the job was ended already, the group is signalled at once.
    pub fn watch(&self, group: i32) -> GroupGuard {
        let mut state = self.state();
        state.groups.push(group);
        if let Some(signal) = state.ended_by {
            send(group, signal);
        }
        drop(state);
        GroupGuard {
            cancel: self.clone(),
            group,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a process group registered with its job.
#[derive(Debug)]
pub struct GroupGuard {
    cancel: Cancel,
    group: i32,
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        let mut state = self.cancel.state();
        if let Some(at) = state.groups.iter().position(|group| *group == self.group) {
            state.groups.swap_remove(at);
        }
    }
}

fn ends_a_process(signal: i32) -> bool {
    matches!(
        Signal::try_from(signal),
        Ok(Signal::SIGTERM | Signal::SIGKILL | Signal::SIGINT | Signal::SIGHUP | Signal::SIGQUIT)
    )
}

fn send(group: i32, signal: i32) {
    let Ok(signal) = Signal::try_from(signal) else {
        return;
    };
    match killpg(Pid::from_raw(group), signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => tracing::warn!(group, %signal, %error, "could not signal a process group"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_job_wakes_its_sleep() {
        let cancel = Cancel::default();
        let other = cancel.clone();
        let sleeper = std::thread::spawn(move || other.sleep(Duration::from_secs(600)));
        cancel.signal(15);
        assert!(!sleeper.join().unwrap());
        assert_eq!(cancel.ended_by(), Some(15));
    }

    #[test]
    fn a_signal_that_ends_nothing_lets_the_job_run() {
        let cancel = Cancel::default();
        cancel.signal(0);
        cancel.signal(19);
        assert_eq!(cancel.ended_by(), None);
        assert!(cancel.sleep(Duration::ZERO));
    }
}
