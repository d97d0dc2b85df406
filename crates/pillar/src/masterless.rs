//! The context of functions that run without a master: on a master that compiles
//! pillars. Files come from its own `file_roots`, and requests to a master are not
//! possible.

use std::sync::{Arc, OnceLock};

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_fileserver::FileServer;
use halite_proto::{Map, Value};

use crate::local_files::LocalFiles;

/// How a master runs its runners: function, arguments by position and by name.
pub type RunRunner = dyn Fn(&str, Vec<Value>, Map) -> Result<Value, ContextError> + Send + Sync;

/// The grains of the machine, asked for when they are first needed.
pub type CollectGrains = dyn Fn() -> Map + Send + Sync;

/// The surroundings of functions that a master runs itself.
pub struct MasterlessContext {
    opts: Map,
    registry: &'static Registry,
    files: LocalFiles,
    runner: Option<Box<RunRunner>>,
    collect: Option<Box<CollectGrains>>,
    grains: OnceLock<Arc<Map>>,
}

impl MasterlessContext {
    /// A master with these options, functions and files.
    pub fn new(opts: Map, registry: &'static Registry, files: Arc<FileServer>) -> Self {
        Self {
            opts,
            registry,
            files: LocalFiles::new(files),
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

impl MinionContext for MasterlessContext {
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

    fn refresh(&self, _what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        Ok(true)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        &self.files
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        None
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        None
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        match &self.runner {
            Some(runner) => Ok(runner),
            None => Err(ContextError::NoRunners),
        }
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}
