//! A minion for tests: options, grains and pillar as given, files of the
//! master from directories, and the functions of this crate.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use halite_fileserver::{FileServer, RootsOptions};
use halite_modules::{
    CallError, ContextError, Job, MinionContext, PillarRequest, Refresh, Registry, StateScope,
    run_state_function,
};
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

static REGISTRY: Registry = Registry::new(
    &[Registry::core_modules(), halite_files::MODULES],
    &[halite_files::STATES],
);

pub struct FakeMinion {
    pub opts: Map,
    pub grains: Arc<Map>,
    pub pillar: Arc<Map>,
    pub files: FileServer,
    pub memo: Arc<Mutex<Map>>,
}

impl FakeMinion {
    /// A minion whose master serves `srv` and `srv-dev` of the directory.
    pub fn new(work: &Path) -> Self {
        let grains = json!({"role": "web", "os": "Debian", "os_family": "Debian", "id": "m1",
            "host": "vm", "kernel": "Linux", "deep": {"a": {"b": "grain text"}, "l": ["x", "y"]}});
        let pillar = json!({"color": "blue", "apps": ["one", "two"], "txt": "pillar text\n",
            "deep": {"k": {"v": "deep text"}, "n": null}, "b64": "aGVsbG8gcGlsbGFyCg=="});
        let map = |json: &Json| from_json(json).as_map().unwrap().clone();
        let opts = Map::from([
            ("id", Value::from("m1")),
            ("hash_type", "sha256".into()),
            ("file_client", "local".into()),
            ("cachedir", work.join("cache").display().to_string().into()),
            ("cmd_safe", true.into()),
        ]);
        let file_roots = vec![
            ("base".to_owned(), vec![work.join("srv")]),
            ("dev".to_owned(), vec![work.join("srv-dev")]),
        ];
        let files = FileServer::from_roots(RootsOptions {
            file_roots,
            ..RootsOptions::default()
        });
        Self {
            opts,
            grains: map(&grains).into(),
            pillar: map(&pillar).into(),
            files: files.unwrap(),
            memo: Arc::default(),
        }
    }

    /// Runs a state function as a state run would.
    pub fn state(&self, fun: &str, kwargs: &Map, test: bool) -> Result<Value, CallError> {
        let Some(function) = REGISTRY.state(fun) else {
            return Err(CallError::exception("KeyError", format!("'{fun}'")));
        };
        let signature = function.parse_signature().unwrap();
        let (state, name) = fun.split_once('.').unwrap();
        let mut low = Map::from([("state", state), ("fun", name)]);
        low.insert("__id__", kwargs.get("name").cloned().unwrap_or_default());
        low.insert("__sls__", Value::Nil);
        low.extend(kwargs.clone());
        let mut taken = kwargs.clone();
        taken.retain(|key, _| signature.takes_keyword(key.as_str().unwrap()));
        let job = Job {
            state: Some(Arc::new(StateScope {
                test,
                low,
                run_id: "run".to_owned(),
                memo: Arc::clone(&self.memo),
                ..StateScope::default()
            })),
            ..Job::default()
        };
        run_state_function(self, fun, Vec::new(), taken, &job)
    }
}

impl MinionContext for FakeMinion {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        &REGISTRY
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::clone(&self.pillar)
    }

    fn compile_pillar(&self, _: &PillarRequest) -> Result<Map, ContextError> {
        Ok(Map::clone(&self.pillar))
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        let command = MinionRequest::from_map(load).map_err(other)?;
        let answer = self.files.answer(&command).ok_or(ContextError::NoMaster)?;
        answer.map_err(other)
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

    fn refresh(&self, _: Refresh, _: Option<u64>) -> Result<bool, ContextError> {
        Ok(true)
    }

    fn master_connected(&self, _: Option<&str>) -> bool {
        true
    }

    fn ping_master(&self, _: &str) -> bool {
        false
    }
}

fn other(error: impl std::fmt::Display) -> ContextError {
    ContextError::Other(error.to_string())
}

/// A directory to work in, with what a minion has there.
pub fn work() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    for name in ["srv", "srv-dev", "cache"] {
        std::fs::create_dir(path.join(name)).unwrap();
    }
    (dir, path)
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
        Value::Bytes(bytes) => json!({"BYTES": bytes}),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => map
            .iter()
            .map(|(key, value)| (halite_modules::python::str(key), to_json(value)))
            .collect(),
        Value::Ext(..) => panic!("an extension"),
    }
}
