//! States of the jobs that the minion starts by itself.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "schedule",
    functions: &[
        Function::new(
            "schedule.absent",
            "(name, **kwargs)",
            absent,
            "A job is not in the schedule.",
        ),
        Function::new(
            "schedule.disabled",
            "(name, **kwargs)",
            disabled,
            "A job of the schedule is not started.",
        ),
        Function::new(
            "schedule.enabled",
            "(name, **kwargs)",
            enabled,
            "A job of the schedule is started when its time comes.",
        ),
        Function::new(
            "schedule.present",
            "(name, **kwargs)",
            present,
            "A job is in the schedule, as it is described.",
        ),
    ],
};

/// The schedule as it is, of the file when the minion does not run.
fn current(call: &Call<'_>, may_be_offline: bool) -> Result<Value, CallError> {
    let mut kwargs = Map::from([
        ("show_all", Value::from(true)),
        ("return_yaml", false.into()),
    ]);
    if may_be_offline && let Some(offline) = call.get("offline") {
        kwargs.insert("offline", offline.clone());
    }
    call.salt("schedule.list", &[], kwargs)
}

/// Calls a function of the schedule, which knows of test mode.
fn ask(call: &Call<'_>, fun: &str) -> CallResult {
    let mut kwargs = call.clean_kwargs();
    if call.is_test() {
        kwargs.insert("test", true);
    }
    call.salt(fun, &[call.arg("name").clone()], kwargs)
}

fn field(answer: &Value, name: &str) -> Value {
    answer.get(name).cloned().unwrap_or_default()
}

fn changes(answer: &Value) -> Map {
    match answer.get("changes") {
        Some(Value::Map(changes)) => changes.clone(),
        _ => Map::new(),
    }
}

/// The text of an answer, which is text or a list of texts.
fn said(answer: &Value) -> String {
    match answer.get("comment") {
        Some(Value::List(lines)) => lines.iter().map(python::str).collect::<Vec<_>>().join("\n"),
        Some(other) => python::str(other),
        None => String::new(),
    }
}

/// Does to a job that is there what `fun` does; `done` says it.
fn change(call: &Call<'_>, fun: &str, done: &str, may_be_offline: bool) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    if current(call, may_be_offline)?.get(name.as_str()).is_none() {
        return Ok(state
            .ok(format!("Job {name} not present in schedule"))
            .into());
    }
    let answer = ask(call, fun)?;
    if call.is_test() {
        // Salt leaves the result at true here.
        return Ok(state.ok(said(&answer)).into());
    }
    if !field(&answer, "result").is_true() {
        return Ok(state.failed(field(&answer, "comment")).into());
    }
    if fun == "schedule.delete" {
        state.changes = changes(&answer);
    }
    Ok(state.ok(format!("{done} job {name} from schedule")).into())
}

fn absent(call: &Call<'_>) -> CallResult {
    change(call, "schedule.delete", "Removed", true)
}

fn enabled(call: &Call<'_>) -> CallResult {
    change(call, "schedule.enable_job", "Enabled", false)
}

fn disabled(call: &Call<'_>) -> CallResult {
    change(call, "schedule.disable_job", "Disabled", true)
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let schedule = current(call, true)?;
    let known = schedule.get(name.as_str());
    let (fun, done) = match known {
        None => ("schedule.add", format!("Adding new job {name} to schedule")),
        Some(known) => {
            let args = [call.arg("name").clone()];
            let mut new = call.salt("schedule.build_schedule_item", &args, call.clean_kwargs())?;
            if let Value::Map(new) = &mut new {
                if new.get("result").is_some_and(|result| !result.is_true()) {
                    let why = new.get("comment").cloned().unwrap_or_default();
                    return Ok(state.failed(why).into());
                }
                if new.get("enabled").is_none() {
                    new.insert("enabled", true);
                }
            }
            if new == *known {
                return Ok(state.ok(format!("Job {name} in correct state")).into());
            }
            (
                "schedule.modify",
                format!("Modifying job {name} in schedule"),
            )
        }
    };
    let answer = ask(call, fun)?;
    if call.is_test() {
        state.changes = match known {
            Some(_) => changes(&answer),
            None => Map::from([(name.as_str(), "added")]),
        };
        return Ok(state.ok(said(&answer)).into());
    }
    if !field(&answer, "result").is_true() {
        return Ok(state.failed(field(&answer, "comment")).into());
    }
    state.changes = changes(&answer);
    Ok(state.ok(done).into())
}
