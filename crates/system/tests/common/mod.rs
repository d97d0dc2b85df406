//! Plays scenarios: calls against a made-up root and stand-ins of the system's
//! programs (`shims/`), and compares returns, command lines and files with what
//! real Salt 3008.5 did with the same stand-ins (`golden/`).
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod transcript;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use halite_modules::{
    CallError, ContextError, Failure, Job, MinionContext, PillarRequest, Refresh, Registry,
    StateScope, run_function, run_state_function,
};
use halite_proto::{Map, Value};
use serde_json::{Value as Json, json};

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
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| (key.as_str(), from_json(value)))
            .collect::<Map>()
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

/// Keys in order, since neither side promises one.
fn sorted(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            // Process ids are never the same.
            let mut entries: Vec<_> = map.iter().filter(|(key, _)| *key != "pid").collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Json::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Lists in order too, where real Salt makes them of sets.
fn listed(json: Json) -> Json {
    match json {
        Json::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, listed(value)))
            .collect(),
        Json::Array(items) => {
            let mut items: Vec<Json> = items.into_iter().map(listed).collect();
            items.sort_by_key(Json::to_string);
            Json::Array(items)
        }
        other => other,
    }
}

fn replaced(json: &Json, from: &str, to: &str) -> Json {
    serde_json::from_str(&json.to_string().replace(from, to)).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match text.strip_prefix("@LINK ") {
        Some(target) => {
            let _ = fs::remove_file(path);
            std::os::unix::fs::symlink(target, path).unwrap();
        }
        None => fs::write(path, text).unwrap(),
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

/// A made-up machine.
pub struct Machine {
    pub dir: tempfile::TempDir,
    pub host: Host,
    quiet: Vec<String>,
    show: Vec<String>,
    /// Keys of returns that are not compared.
    drop: Vec<String>,
    /// The day it was made on.
    since: u64,
}

/// Days since 1970, as passwords are dated with.
fn today() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    since.as_secs() / (24 * 60 * 60)
}

/// Says `@TODAY@` for a password of these days.
fn undated(value: &mut Json, days: &std::ops::RangeInclusive<u64>) {
    match value {
        Json::Object(map) => map.iter_mut().for_each(|(key, value)| {
            let is_today = key == "lstchg" && value.as_u64().is_some_and(|day| days.contains(&day));
            if is_today {
                *value = json!("@TODAY@");
            } else {
                undated(value, days);
            }
        }),
        Json::Array(list) => list.iter_mut().for_each(|value| undated(value, days)),
        _ => {}
    }
}

/// Puts a program into the made-up machine.
fn stand_in(root: &Path, name: &str, text: &str) {
    let path = root.join("bin").join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Machine {
    pub fn new(shims: &str, scenario: &Json, registry: &'static Registry) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let texts = |key: &str| -> Vec<String> {
            let items = scenario[key].as_array().cloned().unwrap_or_default();
            items
                .iter()
                .map(|item| item.as_str().unwrap().to_owned())
                .collect()
        };
        let mut only = texts("shims");
        only.extend(texts("ours_shims"));
        let is_all = scenario["shims"].is_null() && only.is_empty();
        fs::create_dir_all(root.join("bin")).unwrap();
        for entry in fs::read_dir(shims).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if is_all || name == "_log" || only.contains(&name) {
                stand_in(root, &name, &fs::read_to_string(path).unwrap());
            }
        }
        stand_in(root, "_tape", include_str!("tape"));
        for name in texts("answered") {
            stand_in(root, &name, include_str!("answer"));
        }
        for name in texts("taped") {
            stand_in(root, &name, "#!/bin/sh\n. \"${0%/*}/_tape\"\n");
        }
        for (name, text) in scenario["data"].as_object().into_iter().flatten() {
            let text = text.as_str().unwrap();
            let text = text.replace("@TMP@", &root.display().to_string());
            fs::write(root.join(name), text).unwrap();
        }
        // "made" is for what the kernel has on a real machine.
        let files = ["files", "made"].map(|key| scenario[key].as_object());
        for (name, text) in files.into_iter().flatten().flatten() {
            write(
                &root.join("root").join(name.trim_start_matches('/')),
                text.as_str().unwrap(),
            );
        }
        for name in ["cache", "srv", "root/etc"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let text = |path: PathBuf| Value::from(path.display().to_string());
        let mut opts = Map::from([
            ("id", Value::from("m1")),
            ("file_client", "local".into()),
            ("hash_type", "sha256".into()),
            ("cachedir", text(root.join("cache"))),
            ("config_dir", text(root.to_owned())),
            ("conf_file", text(root.join("minion"))),
            ("__host_root__", text(root.join("root"))),
            (
                "__host_path__",
                format!("{}/bin:/usr/bin:/bin", root.display()).into(),
            ),
            ("cmd_safe", true.into()),
        ]);
        if let Value::Map(more) = from_json(&scenario["opts"]) {
            opts.extend(more);
        }
        let Value::Map(grains) = from_json(&scenario["grains"]) else {
            panic!("no grains");
        };
        let host = Host {
            opts,
            grains: grains.into(),
            registry,
            refreshed: Mutex::default(),
        };
        Self {
            quiet: texts("quiet"),
            show: texts("show"),
            drop: texts("drop"),
            since: today(),
            dir,
            host,
        }
    }

    /// Runs the shell line of a call.
    pub fn shell(&self, asked: &Json) {
        let tmp = self.dir.path().to_str().unwrap();
        if let Some(line) = asked["sh"].as_str() {
            let shell = std::process::Command::new("/bin/sh")
                .args(["-ec", line])
                .env("TMP", tmp)
                .env("ROOT", format!("{tmp}/root"))
                .env("HOME", tmp)
                .output()
                .unwrap();
            assert!(shell.status.success(), "{line}: {shell:?}");
        }
    }

    /// Carries out a call and says what came of it.
    pub fn play(&self, call: &Json) -> Json {
        let tmp = self.dir.path().to_str().unwrap().to_owned();
        let log = self.dir.path().join("log");
        fs::write(&log, "").unwrap();
        for (name, text) in call["data"].as_object().into_iter().flatten() {
            fs::write(self.dir.path().join(name), text.as_str().unwrap()).unwrap();
        }
        let asked = replaced(call, "@TMP@", &tmp);
        self.shell(&asked);
        let ret = self.host.carry_out(&asked);
        let mut ret = ret;
        if let Json::Object(map) = &mut ret {
            map.retain(|key, _| !self.drop.contains(key));
        }
        undated(&mut ret, &(self.since..=today()));
        let lines: Vec<String> = fs::read_to_string(&log)
            .unwrap()
            .lines()
            .filter(|line| !line.is_empty() && !self.quiet.iter().any(|q| line.starts_with(q)))
            .map(str::to_owned)
            .collect();
        let mut result = json!({"call": call, "ret": ret, "log": lines});
        let mut files = serde_json::Map::new();
        for name in &self.show {
            let path = match name.strip_prefix("@TMP@/") {
                Some(rest) => self.dir.path().join(rest),
                None => self
                    .dir
                    .path()
                    .join("root")
                    .join(name.trim_start_matches('/')),
            };
            files.insert(name.clone(), json!(read(&path)));
        }
        if !files.is_empty() {
            result["files"] = files.into();
        }
        let result = replaced(&result, &format!("{tmp}/root"), "");
        replaced(&result, &tmp, "@TMP@")
    }
}

fn read(path: &Path) -> Option<String> {
    match fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn failure(error: &CallError) -> String {
    let kind = match error {
        CallError::Command(_) => "CommandExecutionError",
        CallError::Invocation(_) => "SaltInvocationError",
        CallError::NotFound(_) => "CommandNotFoundError",
        CallError::Arguments(_) => "TypeError",
        CallError::Exception { message, kind } => return format!("EXC {kind}: {message}"),
        CallError::Ended(_) => "Ended",
    };
    format!("EXC {kind}: {error}")
}

/// Plays all scenarios and compares with the recordings. `differences` holds
/// the calls, by scenario and number, whose return is ours on purpose.
pub fn assert_as_recorded(
    crate_dir: &str,
    registry: &'static Registry,
    differences: &[(&str, usize)],
) {
    let tests = Path::new(crate_dir).join("tests");
    let only = std::env::var("HALITE_SCENARIO").ok();
    let mut names: Vec<String> = fs::read_dir(tests.join("scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            only.as_ref()
                .is_none_or(|only| name.starts_with(only.as_str()))
        })
        .collect();
    names.sort();
    let (mut same, mut wrong) = (0, Vec::new());
    for name in names {
        let read = |dir: &str| -> Json {
            let text = fs::read_to_string(tests.join(dir).join(&name)).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let (scenario, golden) = (read("scenarios"), read("golden"));
        let shims = tests.join("shims");
        let machine = Machine::new(shims.to_str().unwrap(), &scenario, registry);
        let short = name.trim_end_matches(".json");
        for (at, theirs) in golden.as_array().unwrap().iter().enumerate() {
            let mut ours = sorted(&machine.play(&theirs["call"]));
            let mut theirs = sorted(theirs);
            if scenario["unordered"] == json!(true) {
                ours = listed(ours);
                theirs = listed(theirs);
            }
            let known = differences.contains(&(short, at));
            if ours == theirs {
                same += 1;
                assert!(!known, "{short} {at} is no difference any more");
            } else if !known {
                let mut text = format!("{short} {at} {}", theirs["call"]);
                for key in ["ret", "log", "files"] {
                    differing(key, &ours[key], &theirs[key], &mut text);
                }
                wrong.push(text);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{same} same, {} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Adds the places that differ to `text`.
fn differing(place: &str, ours: &Json, theirs: &Json, text: &mut String) {
    match (ours, theirs) {
        _ if ours == theirs => {}
        (Json::Object(a), Json::Object(b)) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                differing(&format!("{place}.{key}"), &ours[key], &theirs[key], text);
            }
        }
        _ => *text += &format!("\n  {place}\n    ours   {ours}\n    theirs {theirs}"),
    }
}
