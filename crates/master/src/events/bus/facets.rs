//! The master's bus for functions that run on the master: it is the bus of the
//! machine and the bus of the masters in one.

use halite_call::{ContextError, LocalBus, MasterBus};
use halite_proto::{Map, Value};

use super::Bus;

impl LocalBus for Bus {
    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.fire(tag, data);
        Ok(true)
    }
}

impl MasterBus for Bus {
    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        let data = match data {
            Value::Map(data) => data,
            other => Map::from([("data", other)]),
        };
        self.fire(tag, data);
        Ok(true)
    }

    /// The fields are those of a request to a master; here none is sent.
    fn fire_with(&self, _fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.fire_master(tag, data)
    }
}
