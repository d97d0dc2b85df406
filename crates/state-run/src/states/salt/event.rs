//! `salt.wait_for_event`: go on when events of all ids have arrived.

use std::time::{Duration, Instant};

use halite_call::{Call, CallResult, StateReturn, python};
use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use super::minions::{shown, timeout};

/// How long is waited if the argument says nothing that can be read.
const WAIT_DEFAULT: Duration = Duration::from_secs(300);

pub(super) fn wait_for_event(call: &Call<'_>) -> CallResult {
    let pattern = call.text("name");
    let mut ret = StateReturn::of(call);
    if call.is_test() {
        return Ok(shown(ret.pending(format!(
            "Orchestration would wait for event '{pattern}'"
        ))));
    }
    let key = call.text("event_id");
    let mut awaited: Vec<String> = match call.arg("id_list") {
        Value::List(ids) => ids.iter().map(python::str).collect(),
        one => python::texts(one),
    };
    let mut heard: Vec<Value> = Vec::new();
    let began = Instant::now();
    let wait = timeout(call, "timeout").unwrap_or(WAIT_DEFAULT);
    let done = awaited.is_empty()
        || call
            .ctx
            .commander("watching the events of the master")?
            .watch_events(wait, &mut |tag, data| {
                if fnmatch(&pattern, tag) {
                    for id in named(data, &key) {
                        if let Some(at) = awaited.iter().position(|awaited| *awaited == id) {
                            awaited.remove(at);
                            heard.push(id.into());
                        }
                    }
                }
                awaited.is_empty() || call.cancel().ended_by().is_some()
            })?;
    if !heard.is_empty() {
        ret.changes.insert("minions_seen", heard);
    }
    if done && awaited.is_empty() {
        let seconds = began.elapsed().as_secs_f64();
        return Ok(shown(
            ret.ok(format!("All events seen in {seconds} seconds.")),
        ));
    }
    Ok(shown(ret.failed("Timeout value reached.")))
}

/// Whom an event names under `key`, at the top or in its `data`.
fn named(data: &Map, key: &str) -> Vec<String> {
    let inner = || data.get("data")?.as_map()?.get(key);
    match data.get(key).filter(|value| !value.is_nil()).or_else(inner) {
        None | Some(Value::Nil) => Vec::new(),
        Some(Value::List(ids)) => ids.iter().map(python::str).collect(),
        Some(one) => vec![python::str(one)],
    }
}
