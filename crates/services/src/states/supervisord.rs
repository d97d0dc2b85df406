//! States of processes under supervisord.

use std::collections::BTreeSet;

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

const SIGNATURE: &str =
    "(name, restart=False, update=False, user=None, conf_file=None, bin_env=None, **kwargs)";

pub(crate) const MODULE: Module = Module {
    name: "supervisord",
    functions: &[
        Function::new(
            "supervisord.dead",
            "(name, user=None, conf_file=None, bin_env=None, **kwargs)",
            dead,
            "A process or a group (group:) does not run.",
        ),
        Function::new(
            "supervisord.mod_watch",
            "(name, restart=True, update=False, user=None, conf_file=None, bin_env=None, **kwargs)",
            running,
            "Restarts a process or a group when something that it watches has changed.",
        ),
        Function::new(
            "supervisord.running",
            SIGNATURE,
            running,
            "A process or a group (group:) is known and runs; with update the\nconfiguration is read again first, with restart it is restarted if it runs.",
        ),
    ],
};

/// The arguments that select the supervisord.
fn which(call: &Call<'_>) -> Map {
    let names = ["user", "conf_file", "bin_env"];
    names
        .iter()
        .map(|name| (*name, call.arg(name).clone()))
        .collect()
}

fn ask(call: &Call<'_>, fun: &str, name: Option<&str>) -> Result<String, CallError> {
    let args: Vec<Value> = name.into_iter().map(Value::from).collect();
    let said = call.salt(&format!("supervisord.{fun}"), &args, which(call))?;
    Ok(python::str(&said))
}

/// The processes with their states.
struct Processes(Vec<(String, String)>);

impl Processes {
    fn from_call(call: &Call<'_>) -> Result<Self, CallError> {
        let all = call.salt("supervisord.status", &[], which(call))?;
        let all = all.as_map().into_iter().flatten().map(|(process, about)| {
            let state = about.get("state").map(python::str).unwrap_or_default();
            (python::str(process), state)
        });
        Ok(Self(all.collect()))
    }

    fn groups(&self) -> BTreeSet<&str> {
        let names = self.0.iter();
        names
            .filter_map(|(name, _)| name.get(..=name.find(':')?))
            .collect()
    }

    /// Those that a name means, with their states.
    fn meant<'p>(&'p self, name: &'p str) -> Vec<(&'p str, &'p str)> {
        let all = self
            .0
            .iter()
            .map(|(process, state)| (process.as_str(), state.as_str()));
        match self.0.iter().any(|(process, _)| process == name) {
            true => all.filter(|(process, _)| *process == name).collect(),
            false if self.groups().contains(name) => all
                .filter(|(process, _)| process.starts_with(name))
                .collect(),
            false => Vec::new(),
        }
    }
}

fn is_stopped(state: &str) -> bool {
    ["STOPPED", "STOPPING", "EXITED", "FATAL", "BACKOFF"].contains(&state)
}

/// What supervisorctl says that is no failure.
const HARMLESS: [&str; 3] = [
    "already started",
    "not running",
    "process group already active",
];

/// Takes over what was said to a command.
fn judge(mut state: StateReturn, said: &str, comment: &str) -> StateReturn {
    let is_bad = said.contains("ERROR") && !HARMLESS.iter().any(|text| said.contains(text));
    match is_bad {
        true => state.failed(said),
        false => {
            state.comment = comment.into();
            state
        }
    }
}

fn running(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let name = match name.strip_suffix('*').filter(|group| group.ends_with(':')) {
        Some(group) => group.to_owned(),
        None => name,
    };
    let processes = Processes::from_call(call)?;
    let meant = processes.meant(&name);
    let mut state = StateReturn::new(name.as_str());
    if call.is_test() {
        return Ok(announced(state, &name, &meant).into());
    }
    let kind = match meant.as_slice() {
        [] => "",
        [(process, _)] if *process == name => " service",
        _ => " group",
    };
    let mut changes = Vec::new();
    let mut is_updated = false;
    if call.flag("update") {
        let said = ask(call, "update", None)?;
        state = judge(state, &said, "Updating supervisor");
        is_updated = said.contains(&format!("{name}: updated"));
    } else if meant.is_empty() {
        let comment = format!("Adding service: {name}");
        ask(call, "reread", None)?;
        state = judge(state, &ask(call, "add", Some(&name))?, &comment);
        changes.push(comment);
    }
    let runs = !meant.is_empty() && !meant.iter().any(|(_, is)| is_stopped(is));
    let about = format!("{kind}: {name}");
    if runs && call.flag("restart") && !is_updated {
        let comment = format!("Restarting{about}");
        state = judge(state, &ask(call, "restart", Some(&name))?, &comment);
        changes.push(comment);
    } else if runs && is_updated {
        state.comment = format!("Not starting updated{about}").into();
    } else if runs {
        state.comment = format!("Not starting already running{about}").into();
    } else if !is_updated {
        let comment = format!("Starting{about}");
        let is_bad = state.result == Some(false);
        let began = judge(state.clone(), &ask(call, "start", Some(&name))?, &comment);
        changes.push(comment);
        // What went wrong first is what is to be known.
        if !is_bad {
            state = began;
        }
    }
    if state.result == Some(true) && !changes.is_empty() {
        state = state.change(name, changes.join(" "));
    }
    Ok(state.into())
}

/// What test mode says.
fn announced(state: StateReturn, name: &str, meant: &[(&str, &str)]) -> StateReturn {
    let is_group = name.ends_with(':');
    let what = match is_group {
        true => format!("Group '{name}'"),
        false => format!("Service {name}"),
    };
    let waiting: Vec<&str> = meant
        .iter()
        .filter(|(_, is)| !is.eq_ignore_ascii_case("running"))
        .map(|(process, _)| *process)
        .collect();
    match (meant.is_empty(), waiting.len(), is_group) {
        (true, _, _) => state.pending(format!("{what} will be added and started")),
        (_, 0, true) => state.ok(format!(
            "All services in group '{name}' are already running"
        )),
        (_, 0, false) => state.ok(format!("Service {name} is already running")),
        (_, _, false) => state.pending(format!("Service {name} will be started")),
        (_, count, true) if count == meant.len() => {
            state.pending(format!("All services in group '{name}' will be started"))
        }
        (_, _, true) => state.pending(format!(
            "The following services will be started: {}",
            waiting.join(" ")
        )),
    }
}

fn dead(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if call.is_test() {
        return Ok(state
            .pending(format!("Service {name} is set to be stopped"))
            .into());
    }
    let processes = Processes::from_call(call)?;
    let meant = processes.meant(&name);
    if meant.is_empty() {
        return Ok(state.ok(format!("Service {name} doesn't exist")).into());
    }
    if meant.iter().all(|(_, is)| is_stopped(is)) {
        return Ok(state.ok(format!("Service {name} is not running")).into());
    }
    let comment = format!("Stopping service: {name}");
    let state = judge(state, &ask(call, "stop", Some(&name))?, &comment);
    Ok(match state.result {
        Some(true) => state.change(name, comment),
        _ => state,
    }
    .into())
}
