//! One without a master above it: a master that compiles pillars, or a minion
//! with `file_client: local`. Files come from its own `file_roots`, requests
//! for anything else go nowhere.

use std::sync::{Arc, OnceLock};

use halite_fileserver::FileServer;
use halite_modules::{ContextError, MinionContext, PillarRequest, Refresh, Registry};
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};

/// Answers a request for files.
///
/// # Errors
/// [`ContextError::NoMaster`] if the request is for something else, and
/// [`ContextError::Refused`] if the file cannot be read.
pub fn answer_from(files: &FileServer, load: Map) -> Result<Value, ContextError> {
    let refused = |why: String| ContextError::Refused { why };
    let command = MinionRequest::from_map(load).map_err(|error| refused(error.to_string()))?;
    let answer = files.answer(&command).ok_or(ContextError::NoMaster)?;
    answer.map_err(|error| refused(error.to_string()))
}

/// How a master runs its runners: function, arguments by position and by name.
pub type RunRunner = dyn Fn(&str, Vec<Value>, Map) -> Result<Value, ContextError> + Send + Sync;

/// The grains of the machine, asked for when they are first needed.
pub type CollectGrains = dyn Fn() -> Map + Send + Sync;

/// The surroundings of functions that a master runs itself.
pub struct House {
    opts: Map,
    registry: &'static Registry,
    files: Arc<FileServer>,
    runner: Option<Box<RunRunner>>,
    collect: Option<Box<CollectGrains>>,
    grains: OnceLock<Arc<Map>>,
}

impl House {
    /// A master with these options, functions and files.
    pub fn new(opts: Map, registry: &'static Registry, files: Arc<FileServer>) -> Self {
        Self {
            opts,
            registry,
            files,
            runner: None,
            collect: None,
            grains: OnceLock::new(),
        }
    }

    /// The same with grains.
    #[must_use]
    pub fn with_grains(self, collect: Box<CollectGrains>) -> Self {
        Self {
            collect: Some(collect),
            ..self
        }
    }

    /// The same with runners.
    #[must_use]
    pub fn with_runners(self, runner: Box<RunRunner>) -> Self {
        Self {
            runner: Some(runner),
            ..self
        }
    }
}

impl MinionContext for House {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        self.registry
    }

    fn grains(&self) -> Arc<Map> {
        let collect = || self.collect.as_ref().map(|collect| collect());
        let grains = self
            .grains
            .get_or_init(|| Arc::new(collect().unwrap_or_default()));
        Arc::clone(grains)
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::default()
    }

    fn compile_pillar(&self, _request: &PillarRequest) -> Result<Map, ContextError> {
        Ok(Map::new())
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        answer_from(&self.files, load)
    }

    fn fire_local(&self, _tag: &str, _data: Map) -> Result<bool, ContextError> {
        Ok(false)
    }

    fn fire_master(&self, _tag: &str, _data: Value) -> Result<bool, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn running(&self) -> Vec<Map> {
        Vec::new()
    }

    fn signal_job(&self, _jid: &str, _signal: i32) -> Result<Option<i64>, ContextError> {
        Ok(None)
    }

    fn refresh(&self, _what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        Ok(true)
    }

    fn runner(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        match &self.runner {
            Some(runner) => runner(fun, args, kwargs),
            None => Err(ContextError::Unsupported { what: "a runner" }),
        }
    }

    fn master_connected(&self, _master: Option<&str>) -> bool {
        false
    }

    fn ping_master(&self, _master: &str) -> bool {
        false
    }
}
