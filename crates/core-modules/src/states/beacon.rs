//! States of the beacons of the minion.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "beacon",
    functions: &[
        Function::new(
            "beacon.absent",
            "(name, save=False, **kwargs)",
            absent,
            "A beacon is not configured.",
        ),
        Function::new(
            "beacon.disabled",
            "(name, **kwargs)",
            disabled,
            "A beacon is turned off.",
        ),
        Function::new(
            "beacon.enabled",
            "(name, **kwargs)",
            enabled,
            "A beacon is turned on.",
        ),
        Function::new(
            "beacon.present",
            "(name, save=False, **kwargs)",
            present,
            "A beacon is configured as it is described.",
        ),
    ],
};

/// The beacons that are configured.
fn current(call: &Call<'_>) -> Result<Map, CallError> {
    let kwargs = Map::from([("return_yaml", false)]);
    match call.salt("beacons.list", &[], kwargs)? {
        Value::Map(beacons) => Ok(beacons),
        _ => Err(CallError::command(
            "no minion runs here that could be asked for its beacons",
        )),
    }
}

/// Calls a function of the beacons, which knows of test mode.
fn ask(call: &Call<'_>, fun: &str, data: Option<Value>) -> Result<Map, CallError> {
    let args: Vec<Value> = std::iter::once(call.arg("name").clone())
        .chain(data)
        .collect();
    let kwargs = match call.is_test() {
        true => Map::from([("test", true)]),
        false => Map::new(),
    };
    match call.salt(fun, &args, kwargs)? {
        Value::Map(answer) => Ok(answer),
        other => Err(CallError::command(python::str(&other))),
    }
}

fn comment(answer: &Map) -> String {
    answer.get("comment").map(python::str).unwrap_or_default()
}

/// The rest of a state that may write the configuration down.
fn saved(call: &Call<'_>, mut state: StateReturn, mut comments: Vec<String>) -> CallResult {
    let name = call.text("name");
    if call.flag("save") {
        if call.is_test() {
            comments.push(format!("Beacon {name} would be saved"));
        } else {
            let answer = call.salt("beacons.save", &[], Map::new())?;
            if answer.get("result").is_some_and(|result| !result.is_true()) {
                comments.push(answer.get("comment").map(python::str).unwrap_or_default());
                return Ok(state.failed(comments.join("\n")).into());
            }
            comments.push(format!("Beacon {name} saved"));
        }
    }
    state = state.ok(comments.join("\n"));
    Ok(state.into())
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let items = call.clean_kwargs().into_iter();
    let data: Vec<Value> = items
        .map(|(key, value)| [(key, value)].into_iter().collect::<Map>().into())
        .collect();
    let data = Value::List(data);
    let beacons = current(call)?;
    let known = beacons.get(&name);
    if known == Some(&data) {
        return saved(call, state, vec![format!("Job {name} in correct state")]);
    }
    let fun = match known {
        Some(_) => "beacons.modify",
        None => "beacons.add",
    };
    let answer = ask(call, fun, Some(data))?;
    if let Some(Value::Map(changes)) = answer.get("changes") {
        state.changes = changes.clone();
    }
    if call.is_test() {
        return saved(call, state, vec![comment(&answer)]);
    }
    if !answer.get("result").is_some_and(Value::is_true) {
        state.changes = Map::new();
        return Ok(state.failed(comment(&answer)).into());
    }
    let said = match known {
        Some(_) if !state.changes.is_empty() => format!("Modifying {name} in beacons"),
        Some(_) => comment(&answer),
        None => format!("Adding {name} to beacons"),
    };
    saved(call, state, vec![said])
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if !current(call)?.contains_key(&name) {
        return saved(
            call,
            state,
            vec![format!("{name} not configured in beacons")],
        );
    }
    let answer = ask(call, "beacons.delete", None)?;
    if call.is_test() {
        return saved(call, state, vec![comment(&answer)]);
    }
    if !answer.get("result").is_some_and(Value::is_true) {
        return Ok(state.failed(comment(&answer)).into());
    }
    saved(call, state, vec![format!("Removed {name} from beacons")])
}

fn switched(call: &Call<'_>, fun: &str, none: &str, done: &str) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if !current(call)?.contains_key(&name) {
        return Ok(state.ok(none).into());
    }
    let answer = ask(call, fun, None)?;
    if call.is_test() {
        return Ok(state.ok(comment(&answer)).into());
    }
    if !answer.get("result").is_some_and(Value::is_true) {
        return Ok(state.failed(comment(&answer)).into());
    }
    Ok(state.ok(done).into())
}

fn enabled(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    switched(
        call,
        "beacons.enable_beacon",
        &format!("{name} not a configured beacon"),
        &format!("Enabled {name} from beacons"),
    )
}

fn disabled(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    switched(
        call,
        "beacons.disable_beacon",
        &format!("Job {name} is not configured."),
        &format!("Disabled beacon {name}."),
    )
}
