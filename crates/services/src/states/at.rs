//! States of jobs for later.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

const PRESENT: &str = "(name, timespec, tag=None, user=None, job=None, unique_tag=False)";

pub(crate) const MODULE: Module = Module {
    name: "at",
    functions: &[
        Function::new(
            "at.absent",
            "(name, jobid=None, **kwargs)",
            absent,
            "No job waits: the one of a number, those that fit runas, tag, hour,\nminute, day, month and year, or any.",
        ),
        Function::new(
            "at.mod_watch",
            "(name, **kwargs)",
            mod_watch,
            "What at.watch does when something that it watches has changed.",
        ),
        Function::new(
            "at.present",
            PRESENT,
            |call| present(call, call.kwargs()),
            "A job waits for its time; with unique_tag only if none has its tag.",
        ),
        Function::new(
            "at.watch",
            PRESENT,
            |call| Ok(StateReturn::of(call).into()),
            "A job is put in the queue when something that is watched has changed.",
        ),
    ],
};

/// Puts a job in the queue; what is no parameter is among `more`.
fn present(call: &Call<'_>, more: &Map) -> CallResult {
    let get = |name: &str| match more.get(name) {
        Some(value) => Some(value),
        None => call.get(name),
    };
    let given = |name: &str| get(name).filter(|value| value.is_true());
    let text = |name: &str| given(name).map(python::str);
    let state = StateReturn::of(call);
    let job = text("job").unwrap_or_else(|| call.text("name"));
    let time = get("timespec").map(python::str).unwrap_or_default();
    let added = format!("job {job} added and will run on {time}");
    if call.is_test() {
        return Ok(state.pending(added).into());
    }
    let mut options = Map::new();
    if let Some(tag) = text("tag") {
        options.insert("tag", tag);
    }
    if given("unique_tag").is_some() {
        let Some(tag) = text("tag") else {
            let comment = "no tag provided and unique_tag is set to True";
            return Ok(state.failed(comment).into());
        };
        let found = call.salt("at.jobcheck", &[], options.clone())?;
        if !numbers(&found, "jobs").is_empty() {
            return Ok(state
                .ok(format!("atleast one job with tag {tag} exists."))
                .into());
        }
    }
    let comment = match text("user") {
        None => added,
        Some(user) => {
            let known = call.salt("user.info", &[user.as_str().into()], Map::new())?;
            if !known.is_true() {
                return Ok(state.failed(format!("user {user} does not exists")).into());
            }
            options.insert("runas", user.as_str());
            format!("job {job} added and will run as {user} on {time}")
        }
    };
    let done = call.salt("at.at", &[time.into(), job.into()], options)?;
    let error = match &done {
        Value::Str(_) => Some(&done),
        done => done.get("error"),
    };
    if let Some(error) = error {
        return Ok(state.failed(error.clone()).into());
    }
    let mut state = state.ok(comment);
    if let Some(Value::Map(job)) = numbers(&done, "jobs").first() {
        state.changes = job.clone();
    }
    Ok(state.into())
}

/// A list in an answer of `at`.
fn numbers<'v>(answer: &'v Value, key: &str) -> &'v [Value] {
    answer.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn mod_watch(call: &Call<'_>) -> CallResult {
    if call.get("sfun").and_then(Value::as_str) == Some("watch") {
        return present(call, call.kwargs());
    }
    let state = StateReturn::of(call);
    Ok(state.failed("").into())
}

/// Takes jobs out of the queue, and says which.
fn remove(call: &Call<'_>, jobs: &[Value]) -> Result<Value, CallError> {
    let done = call.salt("at.atrm", jobs, Map::new())?;
    let removed = done.get("jobs").and_then(|jobs| jobs.get("removed"));
    removed.cloned().ok_or_else(|| {
        // The text that says what is missing.
        CallError::command(python::str(&done))
    })
}

fn absent(call: &Call<'_>) -> CallResult {
    let mut wanted = call.own_kwargs();
    // Whose jobs, not as whom the state runs.
    if let Some(user) = call.get("runas") {
        wanted.insert("runas", user.clone());
    }
    let mut state = StateReturn::of(call);
    if wanted.contains_key("limit") {
        let name = call.text("name");
        return Ok(state
            .failed(format!("limit parameter not supported {name}"))
            .into());
    }
    if call.is_test() {
        return Ok(state.pending("removed ? job(s)").into());
    }
    if call.flag("jobid") {
        return one_absent(call, state);
    }
    let removed = if wanted.is_empty() {
        remove(call, &["all".into()])?
    } else {
        let found = call.salt("at.jobcheck", &[], wanted)?;
        let jobs: Vec<Value> = numbers(&found, "jobs")
            .iter()
            .filter_map(|job| job.get("job"))
            .map(|number| python::str(number).into())
            .collect();
        match jobs.is_empty() {
            true => Value::List(jobs),
            false => remove(call, &jobs)?,
        }
    };
    let count = removed.as_list().map_or(0, <[Value]>::len);
    if count > 0 {
        state = state.change("removed", removed);
    }
    Ok(state.ok(format!("removed {count} job(s)")).into())
}

fn one_absent(call: &Call<'_>, state: StateReturn) -> CallResult {
    let id = call.text("jobid");
    let number = python::int(call.arg("jobid")).map_or_else(|_| id.as_str().into(), Value::from);
    let waiting = call.salt("at.atq", &[number], Map::new())?;
    if numbers(&waiting, "jobs").is_empty() {
        return Ok(state.ok(format!("job with id {id} not present")).into());
    }
    let removed = remove(call, &[id.as_str().into()])?;
    let is_gone = removed
        .as_list()
        .is_some_and(|gone| gone.iter().any(|job| python::str(job) == id));
    let state = state.change("removed", removed);
    Ok(match is_gone {
        true => state.ok(format!("job with id {id} was removed")),
        false => state.failed(format!("failed to remove job with id {id}")),
    }
    .into())
}
