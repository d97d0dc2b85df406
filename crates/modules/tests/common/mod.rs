//! A minion for tests: options, grains and pillar as given, a master that is a
//! function, and a record of everything that was asked for.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use halite_modules::{
    Ahead, ContextError, Job, MinionContext, Outcome, PillarRequest, Refresh, run_function,
};
use halite_proto::{Map, Value};
use serde_json::Value as Json;

type Master = dyn Fn(&Map) -> Result<Value, ContextError> + Send + Sync;

pub struct FakeMinion {
    pub opts: Map,
    pub grains: Mutex<Arc<Map>>,
    pub pillar: Arc<Map>,
    pub master: Box<Master>,
    pub running: Vec<Map>,
    pub statics: Mutex<Vec<Value>>,
    pub log: Mutex<Vec<String>>,
    /// The master is a Halite one, and several requests may be on their way.
    pub pieces: bool,
}

/// Requests that are answered when their answers are wanted, as late as can be.
struct InLine<'m> {
    minion: &'m FakeMinion,
    asked: VecDeque<Map>,
}

impl Ahead for InLine<'_> {
    fn ask(&mut self, load: Map, beyond: Option<Map>) {
        self.minion.note(format!("ahead {load:?}"));
        self.asked.push_back(beyond.unwrap_or(load));
    }

    fn answer(&mut self) -> Option<Result<Value, ContextError>> {
        self.asked
            .pop_front()
            .map(|load| (self.minion.master)(&load))
    }
}

impl FakeMinion {
    pub fn new() -> Self {
        Self {
            opts: Map::from([("id", Value::from("m1")), ("hash_type", "sha256".into())]),
            grains: Mutex::default(),
            pillar: Arc::default(),
            master: Box::new(|_| Err(ContextError::NoMaster)),
            running: Vec::new(),
            statics: Mutex::default(),
            log: Mutex::default(),
            pieces: false,
        }
    }

    pub fn opt(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.opts.insert(name, value);
        self
    }

    pub fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    pub fn noted(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// Runs a function as a published job.
    pub fn run(&self, fun: &str, args: &[Value]) -> Outcome {
        run_function(self, fun, args, &job(fun))
    }

    /// Runs a function and expects a return.
    pub fn ret(&self, fun: &str, args: &[Value]) -> Value {
        let outcome = self.run(fun, args);
        assert!(outcome.failure.is_none(), "{fun}: {:?}", outcome.ret);
        outcome.ret
    }
}

pub fn job(fun: &str) -> Job {
    Job::published(Map::from([
        ("fun", Value::from(fun)),
        ("jid", "20261120000000000000".into()),
        ("tgt", "m1".into()),
    ]))
}

pub fn kwargs<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let mut map = Map::from(entries);
    map.insert("__kwarg__", true);
    map.into()
}

impl MinionContext for FakeMinion {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains.lock().unwrap())
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::clone(&self.pillar)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.note(format!("pillar {request:?}"));
        let mut pillar = Map::clone(&self.pillar);
        if let Some(overrides) = &request.overrides {
            pillar.extend(overrides.clone());
        }
        Ok(pillar)
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        self.note(format!("request {load:?}"));
        (self.master)(&load)
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.request(if self.pieces { beyond } else { load })
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        Some(Box::new(InLine {
            minion: self,
            asked: VecDeque::new(),
        }))
    }

    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.note(format!("local {tag} {data:?}"));
        Ok(true)
    }

    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.note(format!("master {tag} {data:?}"));
        Ok(true)
    }

    fn running(&self) -> Vec<Map> {
        self.running.clone()
    }

    fn signal_job(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        self.note(format!("signal {jid} {signal}"));
        Ok(self
            .running
            .iter()
            .find(|job| job.get("jid").and_then(Value::as_str) == Some(jid))
            .and_then(|job| job.get("pid").and_then(Value::as_i64)))
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.note(format!("refresh {what:?} {wait:?}"));
        let file = self.config_dir().join("grains");
        if let (Refresh::Grains, Ok(text)) = (what, std::fs::read_to_string(file)) {
            let mut grains = Map::clone(&self.grains());
            let statics = halite_yaml::load(&text, "grains").unwrap().into_value();
            // What is gone from the file is gone from the grains.
            grains.retain(|key, _| !self.statics.lock().unwrap().contains(key));
            *self.statics.lock().unwrap() = statics.as_map().unwrap().keys().cloned().collect();
            grains.extend(statics.as_map().unwrap().clone());
            *self.grains.lock().unwrap() = grains.into();
        }
        Ok(true)
    }

    fn master_connected(&self, _: Option<&str>) -> bool {
        true
    }

    fn ping_master(&self, master: &str) -> bool {
        master == "127.0.0.9"
    }
}

pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::from(int),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(from_json).collect::<Vec<_>>().into(),
        Json::Object(map) => Map::from_iter(
            map.iter()
                .map(|(key, value)| (key.as_str(), from_json(value))),
        )
        .into(),
    }
}

pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Int(int) => Json::from(i64::try_from(*int).unwrap()),
        Value::Float(float) => Json::from(*float),
        Value::Str(text) => Json::from(text.as_str()),
        Value::Bytes(bytes) => Json::from(format!("{bytes:?}")),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (halite_modules::python::str(key), to_json(value)))
            .collect(),
        Value::Ext(..) => panic!("an extension"),
    }
}
