//! Answers as JSON, without the parts that change from run to run, and their
//! differences.

use std::collections::BTreeSet;

use halite_call::{Failure, Outcome};
use halite_output::{Outputter, RenderOptions, render_as};
use halite_proto::Value;
use serde_json::Value as Json;

/// What `salt-call --out=json` would print: nothing for calls that fail.
pub fn shown(outcome: Outcome) -> Option<Value> {
    match outcome.failure {
        None => Some(outcome.ret),
        Some(Failure::NotAvailable(_) | Failure::Call { .. }) => None,
    }
}

/// The value as `--out=json` prints it.
pub fn as_json(value: &Value) -> Json {
    let text = render_as(Outputter::Json, value, &RenderOptions::default());
    serde_json::from_str(&text).unwrap()
}

/// Paths of this run, addresses of objects, traces and the order of a set are
/// nobody's contract.
pub fn normal(value: Json, work: &str) -> Json {
    const FAILED: &str = "One or more requisite failed: ";
    match value {
        Json::String(text) => {
            let mut text = hide_addresses(&text.replace(work, "@WORK@"));
            if let Some(list) = text.strip_prefix(FAILED) {
                let sorted: BTreeSet<&str> = list.split(", ").collect();
                text = format!(
                    "{FAILED}{}",
                    sorted.into_iter().collect::<Vec<_>>().join(", ")
                );
            }
            if let Some(at) = text.find("Traceback (most recent call last):") {
                text.truncate(at);
                text.push_str("@TRACEBACK@");
            }
            Json::String(text)
        }
        Json::Array(items) => items.into_iter().map(|item| normal(item, work)).collect(),
        Json::Object(map) => Json::Object(
            map.into_iter()
                .map(|(key, value)| (key.replace(work, "@WORK@"), normal(value, work)))
                .collect(),
        ),
        other => other,
    }
}

fn hide_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !matches!(c, '0'..='9' | 'a'..='f'))
            .unwrap_or(part.len());
        if end >= 6 {
            out.push_str("0xADDR");
            out.push_str(&part[end..]);
        } else {
            out.push_str("0x");
            out.push_str(part);
        }
    }
    out
}

/// Drops times and process ids from the results of a run.
pub fn strip_results(value: &mut Json) {
    let Json::Object(results) = value else {
        return;
    };
    if results.is_empty()
        || !results
            .values()
            .all(|result| result.get("result").is_some())
    {
        return;
    }
    for result in results.values_mut() {
        if let Json::Object(result) = result {
            result.remove("start_time");
            result.remove("duration");
            if let Some(Json::Object(changes)) = result.get_mut("changes") {
                changes.remove("pid");
            }
        }
    }
}

/// Adds to `out` where the two differ.
pub fn diff(want: &Json, got: &Json, path: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Json::Object(want), Json::Object(got)) => {
            for (key, want) in want {
                match got.get(key) {
                    Some(got) => diff(want, got, &format!("{path}/{key}"), out),
                    None => out.push(format!("{path}/{key}: missing, expected {want}")),
                }
            }
            let more = got.keys().filter(|key| !want.contains_key(*key));
            out.extend(more.map(|key| format!("{path}/{key}: not expected, is {}", got[key])));
        }
        (Json::Array(want), Json::Array(got)) => {
            if want.len() != got.len() {
                out.push(format!(
                    "{path}: {} items expected, {} are",
                    want.len(),
                    got.len()
                ));
            }
            for (index, (want, got)) in want.iter().zip(got).enumerate() {
                diff(want, got, &format!("{path}[{index}]"), out);
            }
        }
        (Json::Number(want), Json::Number(got)) if want.as_f64() == got.as_f64() => {}
        (want, got) if want == got => {}
        (want, got) => out.push(format!("{path}:\n    expected {want}\n    is       {got}")),
    }
}
