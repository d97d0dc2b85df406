//! The facets of a context: the surroundings of a minion beyond its own data, each
//! a trait of its own, so that a context implements only what it has.

use std::collections::BTreeMap;

use halite_proto::request::{Commits, HeldFile};
use halite_proto::{Map, SaltEnv, Value};

use super::ContextError;

/// The file server: a master's, or the file roots of this machine.
pub trait Files: Send + Sync {
    /// Answers a file request (`_file_hash`, `_serve_file`, ...).
    ///
    /// # Errors
    /// When no master answers, or the file cannot be read.
    fn ask(&self, load: Map) -> Result<Value, ContextError>;

    /// Like [`Self::ask`]; a Halite master that serves files in pieces
    /// (`Capabilities::pieces`) is asked `beyond` instead.
    ///
    /// # Errors
    /// When no master answers, or the file cannot be read.
    fn ask_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError>;

    /// Whether each of these files is still the master's, as of these commits;
    /// `None` where several cannot be asked about at once.
    fn held(&self, files: &[HeldFile], commits: &Commits) -> Option<Vec<bool>>;

    /// The commits that the files of an environment come from now, by the
    /// directories of their remotes; `None` where none is from git, or nobody
    /// says so.
    fn commits(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>>;

    /// For requests that need not wait for each other's answers; `None` where
    /// they are best sent one after the other.
    fn ahead(&self) -> Option<Box<dyn Ahead + '_>>;
}

/// Requests on their way to a master at the same time. The caller bounds how
/// many. Those whose answers were not taken are given up when this is dropped.
pub trait Ahead {
    /// Sends a request as [`Files::ask_beyond`] does, without
    /// waiting; without `beyond` it is the same for every master.
    fn ask(&mut self, load: Map, beyond: Option<Map>);

    /// The answer to the oldest request that has none yet; nothing if there is
    /// no such request.
    fn answer(&mut self) -> Option<Result<Value, ContextError>>;
}

/// Requests to the masters.
pub trait Upstream: Send + Sync {
    /// Sends `load` (with its `cmd`; nonce, token and id are added) encrypted
    /// to a master and waits for the answer. In a job this is the master that
    /// published it, else any live one.
    ///
    /// # Errors
    /// When no master answers.
    fn request(&self, load: Map) -> Result<Value, ContextError>;

    /// Like [`Self::request`]; a Halite master that serves files in pieces
    /// (`Capabilities::pieces`) is asked `beyond` instead.
    ///
    /// # Errors
    /// When no master answers.
    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError>;

    /// Like [`Self::request`], but to every connected master; the answer is
    /// the last one's.
    ///
    /// # Errors
    /// When no master could be reached.
    fn request_every(&self, load: Map) -> Result<Value, ContextError>;

    /// Whether `master` (a name or address of the `master` option) is
    /// connected now; without a name, whether any is.
    fn is_connected(&self, master: Option<&str>) -> bool;

    /// Asks `master` for a sign of life over its request port.
    fn ping(&self, master: &str) -> bool;
}

/// The event bus of this machine's daemon.
pub trait LocalBus: Send + Sync {
    /// Puts an event on the bus; `false` when nobody is there to take it.
    ///
    /// # Errors
    /// When the bus exists but does not take the event.
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError>;
}

/// The event bus of the masters.
pub trait MasterBus: Send + Sync {
    /// Sends an event to every connected master (`_minion_event`).
    ///
    /// # Errors
    /// When no master took it.
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError>;

    /// Like [`Self::fire_master`], with `fields` beside the data in the
    /// request: what `preload` gives, or the job id of a state run that
    /// reports its progress. A field may take the place of data and tag.
    ///
    /// # Errors
    /// When no master took it.
    fn fire_with(&self, fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError>;
}

/// The jobs on this machine.
pub trait Jobs: Send + Sync {
    /// The jobs that run now: what their proc files hold, this one included.
    fn running(&self) -> Vec<Map>;

    /// The job `jid`, if it runs now. Where two masters have given one id to two
    /// jobs, that of the master that asks.
    fn find(&self, jid: &str) -> Option<Map> {
        let mut running = self.running().into_iter();
        running.find(|job| job.get("jid").and_then(Value::as_str) == Some(jid))
    }

    /// Signals the job `jid` (its cancellation and its commands). Returns the
    /// pid of the process that was signalled, `None` when no such job runs.
    ///
    /// # Errors
    /// When the signal is not one or may not be sent.
    fn signal(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError>;

    /// A large part of a job is over, and what follows has little in common
    /// with it: a process that stays may give back memory only the first part
    /// has needed.
    fn part_is_over(&self);
}

/// The minion daemon of this machine.
pub trait Daemon: Send + Sync {
    /// Asks the scheduler. The request is what Salt's event `manage_schedule`
    /// carries (`func`, `name`, ...), the answer what the event of its
    /// completion does.
    ///
    /// # Errors
    /// When the daemon has no scheduler, or does not answer.
    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError>;

    /// Asks the beacons. The request is what Salt's event `manage_beacons`
    /// carries (`func`, `name`, ...), the answer what the event of its
    /// completion does.
    ///
    /// # Errors
    /// When the daemon has no beacons, or does not answer.
    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError>;
}
