//! A minion for tests: options, grains, pillar and functions as the test says, a
//! master that is a closure, and a record of the requests to both.
//!
//! Invariant: nothing here reaches beyond the process except the directories that a
//! test has named.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a wrong setup ends the test"
)]

mod calls;
mod context;
mod facets;
mod json;

use std::sync::{Arc, Mutex};

use halite_call::{ContextError, Registry};
use halite_fileserver::FileServer;
use halite_pillar::LocalFiles;
use halite_proto::{Map, Value};

pub use calls::{job, kwargs};
pub use json::{from_json, to_json, to_json_with};

/// Answers requests as a master.
type Master = dyn Fn(&Map) -> Result<Value, ContextError> + Send + Sync;

/// A minion that tests call functions on.
///
/// It is called `m1`, has the core functions, no grains, no pillar and no
/// master, unless it is told otherwise.
pub struct FakeMinion {
    opts: Map,
    registry: &'static Registry,
    grains: Mutex<Arc<Map>>,
    pillar: Arc<Map>,
    master: Option<Box<Master>>,
    takes_pieces: bool,
    files: Option<LocalFiles>,
    running: Vec<Map>,
    memo: Arc<Mutex<Map>>,
    /// The grains that come from the file `grains` in the configuration
    /// directory.
    static_grains: Mutex<Vec<Value>>,
    record: Mutex<Vec<String>>,
}

impl Default for FakeMinion {
    fn default() -> Self {
        Self {
            opts: Map::from([("id", Value::from("m1")), ("hash_type", "sha256".into())]),
            registry: halite_core_modules::registry(),
            grains: Mutex::default(),
            pillar: Arc::default(),
            master: None,
            takes_pieces: false,
            files: None,
            running: Vec::new(),
            memo: Arc::default(),
            static_grains: Mutex::default(),
            record: Mutex::default(),
        }
    }
}

impl FakeMinion {
    /// The minion with nothing around it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an option.
    #[must_use]
    pub fn with_opt(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set_opt(name, value);
        self
    }

    /// Sets several options; the others stay.
    #[must_use]
    pub fn with_opts(mut self, opts: Map) -> Self {
        self.opts.extend(opts);
        self
    }

    /// Gives it these functions and states.
    #[must_use]
    pub fn with_registry(mut self, registry: &'static Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Gives it these grains.
    #[must_use]
    pub fn with_grains(self, grains: Map) -> Self {
        Self {
            grains: Mutex::new(Arc::new(grains)),
            ..self
        }
    }

    /// Gives it this pillar.
    #[must_use]
    pub fn with_pillar(mut self, pillar: Map) -> Self {
        self.pillar = Arc::new(pillar);
        self
    }

    /// Gives it a master, which also serves the files.
    #[must_use]
    pub fn with_master(
        mut self,
        master: impl Fn(&Map) -> Result<Value, ContextError> + Send + Sync + 'static,
    ) -> Self {
        self.set_master(master);
        self
    }

    /// The master is a Halite one that serves files in pieces.
    #[must_use]
    pub fn with_pieces(mut self, takes_pieces: bool) -> Self {
        self.takes_pieces = takes_pieces;
        self
    }

    /// Takes files from this server instead of the master.
    #[must_use]
    pub fn with_files(mut self, server: FileServer) -> Self {
        self.files = Some(LocalFiles::new(Arc::new(server)));
        self
    }

    /// These jobs run on it.
    #[must_use]
    pub fn with_running(mut self, running: Vec<Map>) -> Self {
        self.running = running;
        self
    }

    /// Sets an option.
    pub fn set_opt(&mut self, name: &str, value: impl Into<Value>) {
        self.opts.insert(name, value);
    }

    /// Removes an option.
    pub fn remove_opt(&mut self, name: &str) {
        self.opts.remove(name);
    }

    /// Puts another master in the place of the one it has.
    pub fn set_master(
        &mut self,
        master: impl Fn(&Map) -> Result<Value, ContextError> + Send + Sync + 'static,
    ) {
        self.master = Some(Box::new(master));
    }

    /// What was asked of the minion and its master since the last look.
    pub fn take_record(&self) -> Vec<String> {
        std::mem::take(&mut *self.record.lock().unwrap())
    }

    fn record(&self, what: String) {
        self.record.lock().unwrap().push(what);
    }

    fn ask_master(&self, load: &Map) -> Result<Value, ContextError> {
        match &self.master {
            Some(master) => master(load),
            None => Err(ContextError::NoMaster),
        }
    }
}
