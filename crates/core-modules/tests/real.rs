//! The returns of real Salt 3008.5 for the same calls (`real/*.jsonl`).
//! `HALITE_REAL=<file>` compares with another recording and prints all differences.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;

use halite_call::{Module, Registry, run_function};
use halite_fake_minion::{FakeMinion, from_json, job, to_json};
use halite_proto::Value;
use serde_json::{Value as Json, json};

/// The recording has calls of these families as well.
static EXEC: &[&[Module]] = &[
    halite_core_modules::MODULES,
    halite_machine::MODULES,
    halite_network::MODULES,
    halite_storage::MODULES,
];
static REGISTRY: Registry = Registry::new(EXEC, &[]);

/// What differs from run to run: process ids, times, what is published.
fn settle(mut json: Json) -> Json {
    match &mut json {
        Json::Object(map) => {
            map.retain(|key, _| !key.starts_with("__pub_"));
            for (key, value) in map.iter_mut() {
                *value = if key == "pid" && value.as_i64().is_some_and(|pid| pid > 0) {
                    json!("PID")
                } else {
                    settle(value.take())
                };
            }
        }
        Json::Array(items) => {
            for item in items.iter_mut() {
                *item = settle(item.take());
            }
        }
        Json::String(text) if text.contains("'cwd': '") => {
            let (before, after) = text.split_once("'cwd': '").unwrap();
            let after = after.split_once('\'').unwrap().1;
            json = json!(format!("{before}'cwd': 'HOME'{after}"));
        }
        Json::Number(number) if number.is_f64() && number.as_f64().unwrap() < 0.001 => {
            json = json!("SECONDS");
        }
        _ => {}
    }
    json
}

/// Calls ours and returns the same fields.
fn ours(minion: &FakeMinion, call: &Json) -> Json {
    let fun = call["fun"].as_str().unwrap();
    let mut args: Vec<Value> = call["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(from_json)
        .collect();
    if let Value::Map(mut kwargs) = from_json(&call["kwargs"])
        && !kwargs.is_empty()
    {
        kwargs.insert("__kwarg__", true);
        args.push(kwargs.into());
    }
    let outcome = run_function(minion, fun, &args, &job(fun));
    let mut ret = to_json(&outcome.ret);
    if let Some(text) = ret.as_str() {
        let text = text.trim_end_matches('\n');
        if text.contains("Traceback (most recent") {
            ret = json!(format!("EXC {}", text.lines().last().unwrap()));
        } else if text.starts_with("Passed invalid arguments") {
            ret = json!(text.lines().next().unwrap());
        }
    }
    let mut ours = call.clone();
    ours["ret"] = ret;
    ours["retcode"] = outcome.retcode.into();
    if let Some(out) = outcome.out {
        ours["out"] = out.into();
    }
    ours
}

fn minion(config: &Path) -> FakeMinion {
    let grains = json!({"role": "web", "os": "Debian", "os_family": "Debian", "id": "m1", "host": "vm",
        "ipv4": ["127.0.0.1", "192.0.2.2"], "ipv6": ["::1", "fd00::2"],
        "deep": {"a": {"b": 1}, "l": ["x", "y"]}});
    let pillar =
        json!({"color": "blue", "apps": ["one", "two"], "deep": {"k": {"v": 1}, "n": null}});
    let map = |json: &Json| from_json(json).as_map().unwrap().clone();
    FakeMinion::new()
        .with_registry(&REGISTRY)
        .with_opt("config_dir", config.to_str().unwrap())
        .with_opt("master_port", 24506)
        .with_opt("cmd_safe", true)
        .with_grains(map(&grains))
        .with_pillar(map(&pillar))
}

#[test]
fn returns_are_those_of_salt() {
    let files = match std::env::var("HALITE_REAL") {
        Ok(file) => vec![std::fs::read_to_string(file).unwrap()],
        Err(_) => RECORDINGS.iter().map(|text| (*text).to_owned()).collect(),
    };
    let (mut same, mut different) = (0, Vec::new());
    for file in files {
        let config = tempfile::tempdir().unwrap();
        let minion = minion(config.path());
        for line in file.lines() {
            let call: Json = serde_json::from_str(line).unwrap();
            let (ours, theirs) = (settle(ours(&minion, &call)), settle(call));
            if ours == theirs {
                same += 1;
            } else {
                different.push(format!("ours   {ours}\ntheirs {theirs}"));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{same} same\n{}",
        different.join("\n")
    );
}

const RECORDINGS: &[&str] = &[
    include_str!("real/cmd.jsonl"),
    include_str!("real/config.jsonl"),
    include_str!("real/grains.jsonl"),
    include_str!("real/machine.jsonl"),
    include_str!("real/match.jsonl"),
    include_str!("real/pillar.jsonl"),
    include_str!("real/sys.jsonl"),
    include_str!("real/test.jsonl"),
];
