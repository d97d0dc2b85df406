//! Keys and values of etcd are as given: the state module `etcd`.

use halite_call::{
    Call, CallError, CallResult, Function, Module, StateReturn, python, run_state_function,
};
use halite_proto::Value;

use crate::etcd::{Answer, Client, Node};

pub(crate) const MODULE: Module = Module {
    name: "etcd",
    functions: &[
        Function::new(
            "etcd.directory",
            "(name, profile=None, **kwargs)",
            |call| run(call, directory),
            "There is a directory.",
        ),
        Function::new(
            "etcd.mod_watch",
            "(name, **kwargs)",
            mod_watch,
            "What wait_set and wait_rm do when what they watch has changed.",
        ),
        Function::new(
            "etcd.rm",
            "(name, recurse=False, profile=None, **kwargs)",
            |call| run(call, rm),
            "There is no such key; with recurse nor such a directory.",
        ),
        Function::new(
            "etcd.set",
            "(name, value, profile=None, **kwargs)",
            |call| run(call, set),
            "A key has this value.",
        ),
        Function::new(
            "etcd.wait_rm",
            "(name, recurse=False, profile=None, **kwargs)",
            not_watched,
            "As rm, but only when something that it watches has changed.",
        ),
        Function::new(
            "etcd.wait_set",
            "(name, value, profile=None, **kwargs)",
            not_watched,
            "As set, but only when something that it watches has changed.",
        ),
    ],
};

/// The comment where no server answers.
const SILENT: &str = "etcd does not answer";

/// What a state makes of itself, given what there is now under its name.
type StateFunction =
    fn(&Call<'_>, &Client<'_, '_>, Option<Node>, StateReturn) -> Result<StateReturn, CallError>;

/// Runs a state with what there is now; a server that is silent fails it.
fn run(call: &Call<'_>, state: StateFunction) -> CallResult {
    let client = Client::from_call(call)?;
    let returned = StateReturn::of(call);
    Ok(match client.found(&call.text("name"), false)? {
        Some(found) => state(call, &client, found, returned)?,
        None => returned.failed(SILENT),
    }
    .into())
}

/// The state after a change was asked for, or why it was not made.
fn after(
    state: StateReturn,
    answer: Answer,
    done: impl FnOnce(StateReturn) -> StateReturn,
) -> StateReturn {
    match answer {
        Answer::Node(_) => done(state),
        Answer::Refused { why, .. } => state.failed(why),
        Answer::Silent => state.failed(SILENT),
    }
}

fn set(
    call: &Call<'_>,
    client: &Client<'_, '_>,
    found: Option<Node>,
    state: StateReturn,
) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let value = match call.arg("value") {
        Value::Nil => String::new(),
        value => python::str(value),
    };
    let is_new = found.is_none();
    if found.is_some_and(|node| !node.is_dir && node.value == value) {
        return Ok(state.ok("Key contains correct value"));
    }
    let changed = |state: StateReturn| state.change(name.as_str(), call.arg("value").clone());
    if call.is_test() {
        let comment = match is_new {
            true => "New key would be created",
            false => "Key value would be updated",
        };
        return Ok(changed(state.pending(comment)));
    }
    let comment = match is_new {
        true => "New key created",
        false => "Key value updated",
    };
    let answer = client.set(&name, &value, None)?;
    Ok(after(state, answer, |state| changed(state.ok(comment))))
}

fn directory(
    call: &Call<'_>,
    client: &Client<'_, '_>,
    found: Option<Node>,
    state: StateReturn,
) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    match found {
        Some(node) if node.is_dir => return Ok(state.ok("Directory exists")),
        Some(_) => return Ok(state.failed(format!("{name} is a key"))),
        None => {}
    }
    if call.is_test() {
        let state = state.pending("New directory would be created");
        return Ok(state.change(name, "Created"));
    }
    let answer = client.make_dir(&name, None)?;
    Ok(after(state, answer, |state| {
        state.ok("New directory created").change(name, "Created")
    }))
}

fn rm(
    call: &Call<'_>,
    client: &Client<'_, '_>,
    found: Option<Node>,
    state: StateReturn,
) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    if found.is_none() {
        return Ok(state.ok("Key does not exist"));
    }
    if call.is_test() {
        let state = state.pending("Key would be removed");
        return Ok(state.change(name, "Deleted"));
    }
    let answer = client.remove(&name, call.flag("recurse"))?;
    Ok(match answer {
        Answer::Refused { .. } => state.failed("Unable to remove key"),
        answer => after(state, answer, |state| {
            state.ok("Key removed").change(name, "Deleted")
        }),
    })
}

/// `wait_set` and `wait_rm` while nothing that they watch has changed.
fn not_watched(call: &Call<'_>) -> CallResult {
    Ok(StateReturn::of(call).into())
}

/// `wait_set` and `wait_rm` in earnest.
fn mod_watch(call: &Call<'_>) -> CallResult {
    let asked = call.kwargs().get("sfun").map(python::str);
    let asked = asked.unwrap_or_default();
    let fun = match asked.as_str() {
        "wait_set" | "wait_set_key" => "etcd.set",
        "wait_rm" | "wait_rm_key" => "etcd.rm",
        other => {
            let state = StateReturn::of(call);
            let comment = format!(
                "etcd.{other} does not work with the watch requisite, please use etcd.wait_set or etcd.wait_rm"
            );
            return Ok(state.failed(comment).into());
        }
    };
    let mut kwargs = call.kwargs().clone();
    kwargs.remove("sfun");
    kwargs.insert("name", call.arg("name").clone());
    run_state_function(call.ctx, fun, Vec::new(), kwargs, call.job)
}
