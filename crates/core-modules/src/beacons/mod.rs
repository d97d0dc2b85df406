//! `beacons.*`: the beacons of the minion.
//!
//! They belong to the running minion, which is asked through
//! [`halite_call::MinionContext::manage_beacons`]. Texts are Salt's
//! (`salt/modules/beacons.py`, 3008.5).

mod change;
mod diff;
mod switch;

use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

use halite_call::{Call, CallResult, ContextError, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "beacons",
    functions: &[
        Function::new(
            "beacons.add",
            "(name, beacon_data, **kwargs)",
            change::add,
            "Adds a beacon: a list of maps with what it is told. beacon_module in it\nnames its kind where that is not its name.",
        ),
        Function::new(
            "beacons.delete",
            "(name, **kwargs)",
            change::delete,
            "Takes a beacon away.",
        ),
        Function::new(
            "beacons.disable",
            "(**kwargs)",
            switch::disable,
            "Turns all beacons off.",
        ),
        Function::new(
            "beacons.disable_beacon",
            "(name, **kwargs)",
            switch::disable_beacon,
            "Turns a beacon off.",
        ),
        Function::new(
            "beacons.enable",
            "(**kwargs)",
            switch::enable,
            "Turns the beacons on; those that are off for themselves stay so.",
        ),
        Function::new(
            "beacons.enable_beacon",
            "(name, **kwargs)",
            switch::enable_beacon,
            "Turns a beacon on.",
        ),
        Function::new(
            "beacons.list",
            "(return_yaml=True, include_pillar=True, include_opts=True, **kwargs)",
            list,
            "The beacons that are configured, as YAML unless return_yaml is False.",
        ),
        Function::new(
            "beacons.list_available",
            "(return_yaml=True, **kwargs)",
            list_available,
            "The kinds of beacons there are.",
        ),
        Function::new(
            "beacons.modify",
            "(name, beacon_data, **kwargs)",
            change::modify,
            "Gives a beacon another configuration.",
        ),
        Function::new(
            "beacons.reset",
            "(**kwargs)",
            switch::reset,
            "Takes all beacons of the configuration away.",
        ),
        Function::new(
            "beacons.save",
            "(**kwargs)",
            change::save,
            "Writes the beacons to minion.d/beacons.conf.",
        ),
    ],
};

/// Asks the beacons; nothing if no minion runs here or it does not answer.
fn ask<const N: usize>(call: &Call<'_>, func: &str, fields: [(&str, Value); N]) -> Option<Map> {
    let mut request = Map::from(fields);
    request.insert("func", func);
    let none = ContextError::Unsupported { what: "beacons" };
    let daemon = call.ctx.daemon().ok_or(none);
    match daemon.and_then(|daemon| daemon.manage_beacons(request)) {
        Ok(answer) => Some(answer),
        Err(error) => {
            tracing::debug!(%error, func, "the beacons were not asked");
            None
        }
    }
}

fn is_complete(answer: &Map) -> bool {
    answer.get("complete").is_some_and(Value::is_true)
}

/// The beacons that are configured; nothing if nobody answers.
fn listed(call: &Call<'_>, pillar: bool, opts: bool) -> Option<Map> {
    let fields = [
        ("include_pillar", Value::from(pillar)),
        ("include_opts", opts.into()),
    ];
    match ask(call, "list", fields)?.remove("beacons")? {
        Value::Map(beacons) => Some(beacons),
        _ => None,
    }
}

fn list(call: &Call<'_>) -> CallResult {
    let beacons = listed(call, call.flag("include_pillar"), call.flag("include_opts"));
    Ok(shown(call, beacons.map(Value::from).unwrap_or_default()))
}

fn list_available(call: &Call<'_>) -> CallResult {
    let kinds = ask(call, "list_available", []).and_then(|mut answer| answer.remove("beacons"));
    Ok(match kinds {
        Some(kinds) => shown(call, kinds),
        None => Map::from([("beacons", Map::new())]).into(),
    })
}

fn shown(call: &Call<'_>, beacons: Value) -> Value {
    if call.flag("return_yaml") {
        let document = Map::from([("beacons", beacons)]);
        return dump(&document.into(), DumpOptions::block()).into();
    }
    beacons
}

/// Whether the call is only to say what it would do.
fn is_test(call: &Call<'_>) -> bool {
    call.kwargs().get("test").is_some_and(Value::is_true)
}

fn report(result: bool, comment: impl Into<Value>) -> Map {
    Map::from([("comment", comment.into()), ("result", result.into())])
}

/// What is said where nobody answers.
fn unanswered(what: &str) -> Map {
    report(false, format!("Event module not available. {what} failed."))
}
