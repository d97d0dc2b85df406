//! Plays scenarios: calls against an artificial root and stand-ins of the system's
//! programs (`shims/`), and compares returns, command lines and files with what
//! real Salt 3008.5 did with the same stand-ins (`golden/`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a wrong recording ends the test"
)]

mod call;
mod json;
mod machine;
mod transcript;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub use call::carry_out;
use halite_call::Registry;
use halite_test_support::differences::Differences;
use json::{listed, sorted};
pub use machine::Machine;
use serde_json::{Value as Json, json};
pub use transcript::assert_transcripts;

/// Plays all scenarios and compares with the recordings. What is ours on
/// purpose stands in `differences.json`.
pub fn assert_as_recorded(crate_dir: &str, registry: &'static Registry) {
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
    let mut differences = Differences::open(tests.join("differences.json"));
    for name in names {
        let read = |dir: &str| -> Json {
            let text = fs::read_to_string(tests.join(dir).join(&name)).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        let (scenario, golden) = (read("scenarios"), read("golden"));
        let shims = tests.join("shims");
        let machine = Machine::new(shims.to_str().unwrap(), &scenario, registry);
        let short = name.trim_end_matches(".json");
        let mut times = BTreeMap::new();
        for theirs in golden.as_array().unwrap() {
            let call = call_text(&theirs["call"]);
            let time = times.entry(call.clone()).or_insert(0);
            *time += 1;
            let name = match *time {
                1 => format!("{short}: {call}"),
                time => format!("{short}: {call}, time {time}"),
            };
            let mut ours = sorted(&machine.play(&theirs["call"]));
            let mut theirs = sorted(theirs);
            if scenario["unordered"] == json!(true) {
                ours = listed(ours);
                theirs = listed(theirs);
            }
            let mut text = String::new();
            let mut unlike = serde_json::Map::new();
            for key in ["ret", "log", "files"] {
                if ours[key] != theirs[key] {
                    differing(key, &ours[key], &theirs[key], &mut text);
                    unlike.insert(key.to_owned(), ours[key].clone());
                }
            }
            let unlike_salt = (!unlike.is_empty()).then_some(text);
            differences.check(&name, unlike.into(), unlike_salt);
        }
    }
    differences.finish(only.is_none());
}

/// A call as its name in the list of differences: what is called, with what.
fn call_text(call: &Json) -> String {
    let mut text = String::new();
    for key in ["state", "fun"] {
        text += call[key].as_str().unwrap_or_default();
    }
    for key in ["args", "kwargs"] {
        let given = &call[key];
        let is_empty = given.is_null() || *given == json!([]) || *given == json!({});
        if !is_empty {
            text += &format!(" {given}");
        }
    }
    if call["test"] == json!(true) {
        text += " in test mode";
    }
    text
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
