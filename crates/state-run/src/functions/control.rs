//! Shows runs, pauses them, and ends them softly.

use halite_call::{Call, CallError, CallResult, Function};
use halite_proto::{Map, Value};

use crate::shell::{ALL, Pauses, pause_dir};
use crate::turns;

pub(super) const RUNNING: Function = Function::new(
    "state.running",
    "(concurrent=False)",
    running,
    "Names the state functions that run now.",
);

pub(super) const PAUSE: Function = Function::new(
    "state.pause",
    "(jid, state_id=None, duration=None)",
    |call| hold(call, "duration"),
    "Holds the run of the job before the state with this id, or before the next\none; for a time in seconds, or until state.resume.",
);

pub(super) const RESUME: Function = Function::new(
    "state.resume",
    "(jid, state_id=None)",
    resume,
    "Lets a run that is held go on.",
);

pub(super) const SOFT_KILL: Function = Function::new(
    "state.soft_kill",
    "(jid, state_id=None)",
    |call| hold(call, "kill"),
    "Ends the run of the job before the state with this id, or before the next one.",
);

pub(super) const GET_PAUSES: Function = Function::new(
    "state.get_pauses",
    "(jid=None)",
    get_pauses,
    "The runs that are held, and how.",
);

fn running(call: &Call<'_>) -> CallResult {
    let texts = if call.flag("concurrent") {
        Vec::new()
    } else {
        turns::running(call)
    };
    Ok(Value::List(texts.into_iter().map(Value::from).collect()))
}

fn hold(call: &Call<'_>, how: &str) -> CallResult {
    let pauses = pauses(call)?;
    let id = state_id(call);
    let mut all = pauses.read();
    let pause = all.get_or_insert_with(id.as_str(), || Map::new().into());
    if let Value::Map(pause) = pause {
        match how {
            "kill" => {
                pause.insert("kill", true);
            }
            _ if call.flag("duration") => {
                pause.insert("duration", call.int("duration")?);
            }
            _ => {}
        }
    }
    pauses.write(all)?;
    Ok(Value::Nil)
}

fn resume(call: &Call<'_>) -> CallResult {
    let pauses = pauses(call)?;
    let id = state_id(call);
    let mut all = pauses.read();
    all.remove(&id);
    if id == ALL {
        all = Map::new();
    }
    pauses.write(all)?;
    Ok(Value::Nil)
}

fn get_pauses(call: &Call<'_>) -> CallResult {
    let cachedir = call.ctx.cachedir();
    let wanted: Vec<String> = match call.arg("jid") {
        Value::Nil => std::fs::read_dir(pause_dir(&cachedir))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect(),
        Value::List(jids) => jids.iter().map(halite_proto::python::str).collect(),
        one => vec![halite_proto::python::str(one)],
    };
    let active = turns::active(call.ctx);
    let is_active = |jid: &str| {
        let mut jids = active.iter().filter_map(|load| load.get("jid")?.as_str());
        jids.any(|active| active == jid)
    };
    let mut found = Map::new();
    for jid in wanted {
        let Some(pauses) = Pauses::of(&cachedir, &jid) else {
            continue;
        };
        if is_active(&jid) {
            found.insert(jid, pauses.read());
        } else {
            pauses.clear();
        }
    }
    Ok(found.into())
}

fn pauses(call: &Call<'_>) -> Result<Pauses, CallError> {
    let jid = call.text("jid");
    Pauses::of(&call.ctx.cachedir(), &jid)
        .ok_or_else(|| CallError::invocation(format!("'{jid}' is not a job id")))
}

fn state_id(call: &Call<'_>) -> String {
    call.text_opt("state_id").unwrap_or_else(|| ALL.to_owned())
}
