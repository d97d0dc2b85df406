//! A minion that functions and states are called on.

use std::sync::{Arc, Mutex};

use halite_modules::{
    CallError, ContextError, Failure, Job, MinionContext, PillarRequest, Refresh, Registry,
    StateScope, run_function, run_state_function,
};
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

use super::json::{from_json, to_json};

pub struct Host {
    pub opts: Map,
    pub grains: Arc<Map>,
    pub registry: &'static Registry,
    pub refreshed: Mutex<Vec<Refresh>>,
}

impl MinionContext for Host {
    fn opts(&self) -> &Map {
        &self.opts
    }
    fn registry(&self) -> &'static Registry {
        self.registry
    }
    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }
    fn pillar(&self) -> Arc<Map> {
        Arc::default()
    }
    fn compile_pillar(&self, _: &PillarRequest) -> Result<Map, ContextError> {
        Ok(Map::new())
    }
    fn request(&self, _: Map) -> Result<Value, ContextError> {
        Err(ContextError::NoMaster)
    }
    fn fire_local(&self, _: &str, _: Map) -> Result<bool, ContextError> {
        Ok(true)
    }
    fn fire_master(&self, _: &str, _: Value) -> Result<bool, ContextError> {
        Ok(true)
    }
    fn running(&self) -> Vec<Map> {
        Vec::new()
    }
    fn signal_job(&self, _: &str, _: i32) -> Result<Option<i64>, ContextError> {
        Ok(None)
    }
    fn refresh(&self, what: Refresh, _: Option<u64>) -> Result<bool, ContextError> {
        self.refreshed.lock().unwrap().push(what);
        Ok(true)
    }
    fn master_connected(&self, _: Option<&str>) -> bool {
        false
    }
    fn ping_master(&self, _: &str) -> bool {
        false
    }
}

impl Host {
    /// What comes of a call.
    pub fn carry_out(&self, asked: &Json) -> Json {
        match (asked["state"].as_str(), asked["fun"].as_str()) {
            (Some(fun), _) => {
                let job = Job {
                    state: Some(Arc::new(StateScope {
                        test: asked["test"] == json!(true),
                        ..StateScope::default()
                    })),
                    ..Job::default()
                };
                let Value::Map(kwargs) = from_json(&asked["args"]) else {
                    panic!("no arguments");
                };
                match run_state_function(self, fun, Vec::new(), kwargs, &job) {
                    Ok(ret) => to_json(&ret),
                    Err(error) => json!(failure(&error)),
                }
            }
            (None, Some(fun)) => {
                let mut args: Vec<Value> = asked["args"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(from_json)
                    .collect();
                if let Value::Map(mut kwargs) = from_json(&asked["kwargs"]) {
                    kwargs.insert("__kwarg__", true);
                    args.push(kwargs.into());
                }
                let outcome = run_function(self, fun, &args, &Job::default());
                match outcome.failure {
                    Some(Failure::Call { error, .. }) => json!(failure(&error)),
                    _ => to_json(&outcome.ret),
                }
            }
            _ => panic!("neither state nor function: {asked}"),
        }
    }
}

fn failure(error: &CallError) -> String {
    let kind = match error {
        CallError::Command(_) => "CommandExecutionError",
        CallError::Invocation(_) => "SaltInvocationError",
        CallError::NotFound(_) => "CommandNotFoundError",
        CallError::Arguments(_) => "TypeError",
        CallError::Exception { message, kind, .. } => return format!("EXC {kind}: {message}"),
        CallError::Ended(_) => "Ended",
    };
    format!("EXC {kind}: {error}")
}
