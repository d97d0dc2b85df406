//! Plays scenarios: calls against a made-up root and stand-ins of the system's
//! programs (`shims/`), and compares returns, command lines and files with what
//! real Salt 3008.5 did with the same stand-ins (`golden/`).
#![allow(dead_code, unused_imports, unreachable_pub, missing_docs)]

mod host;
mod json;
mod machine;
pub mod transcript;

use std::fs;
use std::path::Path;

use halite_modules::Registry;
pub use host::Host;
pub use json::{from_json, to_json};
use json::{listed, sorted};
pub use machine::Machine;
use serde_json::{Value as Json, json};

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
