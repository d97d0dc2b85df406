//! `engines`: users' Python code that runs beside the master for as long as
//! it does, with the functions and runners of the master.
//!
//! Invariant: what an engine fires goes to the bus of this master.

use std::sync::Arc;

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
    extensions::{Engine, Engines, engines},
};
use halite_pillar::MasterlessContext;
use halite_proto::{Map, Value};

use crate::events::bus::Bus;
use crate::functions::Functions;

/// The engines that the options name.
///
/// # Errors
/// When the option is malformed.
pub(crate) fn read(option: &Value) -> Result<Vec<Engine>, String> {
    engines(option)
}

/// Starts the engines, which end when what is returned is dropped; nothing
/// where there are none.
pub(crate) fn start(
    engines: Vec<Engine>,
    functions: &Arc<Functions>,
    bus: &Arc<Bus>,
) -> Option<Engines> {
    if engines.is_empty() {
        return None;
    }
    let ctx: Arc<dyn MinionContext> = Arc::new(EngineContext {
        functions: Arc::clone(functions),
        bus: Arc::clone(bus),
    });
    Engines::start(engines, "master", &ctx)
        .map_err(|error| tracing::error!("engines could not be started: {error}"))
        .ok()
}

/// The master, as the functions that an engine calls see it.
struct EngineContext {
    functions: Arc<Functions>,
    bus: Arc<Bus>,
}

impl EngineContext {
    fn context(&self) -> &MasterlessContext {
        self.functions.context()
    }
}

impl MinionContext for EngineContext {
    fn opts(&self) -> &Map {
        self.context().opts()
    }

    fn registry(&self) -> &'static Registry {
        self.context().registry()
    }

    fn grains(&self) -> Arc<Map> {
        self.context().grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.context().pillar()
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.context().compile_pillar(request)
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.context().refresh(what, wait)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        self.context().files()
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(&*self.bus)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(&*self.bus)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        None
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        self.context().runners()
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}
