//! `engines`: users' Python code that runs beside the master for as long as
//! it does, with the functions and runners of the master.
//!
//! Invariant: what an engine fires goes to the bus of this master.

use std::sync::Arc;

use halite_modules::extensions::{Engine, Engines, engines};
use halite_modules::{ContextError, MinionContext, PillarRequest, Refresh, Registry};
use halite_pillar::House;
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
    let ctx: Arc<dyn MinionContext> = Arc::new(Surroundings {
        functions: Arc::clone(functions),
        bus: Arc::clone(bus),
    });
    Engines::start(engines, "master", &ctx)
        .map_err(|error| tracing::error!("engines could not be started: {error}"))
        .ok()
}

/// The master, as the functions that an engine calls see it.
struct Surroundings {
    functions: Arc<Functions>,
    bus: Arc<Bus>,
}

impl Surroundings {
    fn house(&self) -> &House {
        self.functions.house()
    }
}

impl MinionContext for Surroundings {
    fn opts(&self) -> &Map {
        self.house().opts()
    }

    fn registry(&self) -> &'static Registry {
        self.house().registry()
    }

    fn grains(&self) -> Arc<Map> {
        self.house().grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.house().pillar()
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.house().compile_pillar(request)
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        self.house().request(load)
    }

    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.bus.fire(tag, data);
        Ok(true)
    }

    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        let data = match data {
            Value::Map(data) => data,
            other => Map::from([("data", other)]),
        };
        self.bus.fire(tag, data);
        Ok(true)
    }

    fn running(&self) -> Vec<Map> {
        self.house().running()
    }

    fn signal_job(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        self.house().signal_job(jid, signal)
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.house().refresh(what, wait)
    }

    fn runner(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        self.house().runner(fun, args, kwargs)
    }

    fn master_connected(&self, master: Option<&str>) -> bool {
        self.house().master_connected(master)
    }

    fn ping_master(&self, master: &str) -> bool {
        self.house().ping_master(master)
    }
}
