//! States of services.

mod mask;
mod run;
use halite_call::{
    BEACON_INTERVAL, Call, CallError, CallResult, Function, Module, StateReturn, add_state_beacon,
    beacon_value, host,
};
use halite_proto::{Map, Value};

use crate::service::{self, Action, How, Init};
use mask::{masked, unmasked};
use run::{dead, delay, running};

pub(crate) const MODULE: Module = Module {
    name: "service",
    functions: &[
        Function::new(
            "service.dead",
            "(name, enable=None, sig=None, init_delay=None, **kwargs)",
            dead,
            "A service does not run.",
        ),
        Function::new(
            "service.disabled",
            "(name, **kwargs)",
            disabled,
            "A service does not start with the system.",
        ),
        Function::new(
            "service.enabled",
            "(name, **kwargs)",
            enabled,
            "A service starts with the system.",
        ),
        Function::new(
            "service.masked",
            "(name, runtime=False)",
            masked,
            "A service is masked.",
        ),
        Function::new(
            "service.mod_beacon",
            "(name, **kwargs)",
            mod_beacon,
            "Has the service reported by a beacon: beacon, beacon_data (onchangeonly, delay,\nemitatstartup, uncleanshutdown, interval).",
        ),
        Function::new(
            "service.mod_watch",
            "(name, sfun=None, sig=None, reload=False, full_restart=False, init_delay=None, force=False, **kwargs)",
            mod_watch,
            "Restarts or reloads a service when what it watches has changed.",
        ),
        Function::new(
            "service.running",
            "(name, enable=None, sig=None, init_delay=None, **kwargs)",
            running,
            "A service runs.",
        ),
        Function::new(
            "service.unmasked",
            "(name, runtime=False)",
            unmasked,
            "A service is not masked.",
        ),
    ],
};

fn mod_beacon(call: &Call<'_>) -> CallResult {
    let supported = (&["running", "dead"][..], "beacon");
    add_state_beacon(call, "service", supported, |name, data| {
        let mut watched = Map::from([
            ("onchangeonly", beacon_value(data, "onchangeonly", true)),
            ("delay", beacon_value(data, "delay", 0)),
            ("emitatstartup", beacon_value(data, "emitatstartup", false)),
        ]);
        if let Some(file) = data.get("uncleanshutdown") {
            watched.insert("uncleanshutdown", file.clone());
        }
        Map::from([
            ("services", Value::from(Map::from([(name, watched)]))),
            ("interval", beacon_value(data, "interval", BEACON_INTERVAL)),
        ])
    })
}

const SYSTEMD_ONLY: &[&str] = &["no_block", "unmask", "unmask_runtime"];

/// How a service stands with regard to running, for comments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Running,
    Desired,
    Dead,
}

impl Standing {
    fn after(is_running: bool) -> Self {
        if is_running {
            Self::Running
        } else {
            Self::Dead
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Running => "is running",
            Self::Desired => "is in the desired state",
            Self::Dead => "is dead",
        }
    }
}

/// What the state says of systemd's own arguments.
fn how(call: &Call<'_>, allowed: &[&str], state: &mut StateReturn) -> How {
    let mut how = How::default();
    let is_systemd = Init::of(call) == Init::Systemd;
    let mut warnings: Vec<Value> = match state.more.remove("warnings") {
        Some(Value::List(warnings)) => warnings,
        _ => Vec::new(),
    };
    for name in SYSTEMD_ONLY.iter().filter(|name| allowed.contains(name)) {
        let Some(value) = call.kwargs().get(name) else {
            continue;
        };
        if !is_systemd {
            let text = format!("The '{name}' argument is not supported by this platform");
            if !warnings.iter().any(|known| known.as_str() == Some(&text)) {
                warnings.push(text.into());
            }
            continue;
        }
        match *name {
            "no_block" => how.no_block = Some(value.is_true()),
            "unmask" => how.unmask = value.is_true(),
            _ => how.unmask_runtime = value.is_true(),
        }
    }
    if !warnings.is_empty() {
        state.more.insert("warnings", Value::List(warnings));
    }
    how
}

/// Turns a failed command into the state's result.
fn or_failed(state: StateReturn, result: Result<StateReturn, CallError>) -> CallResult {
    match result {
        Ok(state) => Ok(state.into()),
        Err(CallError::Command(text)) => Ok(state.failed(text).into()),
        Err(other) => Err(other),
    }
}

fn wanted(call: &Call<'_>) -> Option<bool> {
    match call.arg("enable") {
        Value::Bool(on) => Some(*on),
        text @ Value::Str(_) => Some(host::is_true(text)),
        _ => None,
    }
}

/// Enables or disables a service, and says so.
fn toggle(
    call: &Call<'_>,
    name: &str,
    on: bool,
    standing: Standing,
    result: bool,
    mut state: StateReturn,
) -> Result<StateReturn, CallError> {
    let verb = if on { "enabled" } else { "disabled" };
    let how = How {
        no_block: call.kwargs().get("no_block").map(Value::is_true),
        unmask: call.kwargs().get("unmask").is_some_and(Value::is_true),
        unmask_runtime: call
            .kwargs()
            .get("unmask_runtime")
            .is_some_and(Value::is_true),
        root: None,
    };
    match service::available(call, name) {
        Ok(true) => {}
        Ok(false) => {
            let comment = format!("The named service {name} is not available");
            return Ok(if on {
                state.failed(comment)
            } else {
                state.ok(comment)
            });
        }
        Err(CallError::Command(text)) => return Ok(state.failed(text)),
        Err(other) => return Err(other),
    }
    state.result = Some(result);
    if service::enabled(call, name, &How::default())? == on {
        if standing == Standing::Desired {
            state.changes = Map::new();
        }
        state.comment =
            format!("Service {name} is already {verb}, and {}", standing.words()).into();
        return Ok(state);
    }
    if call.is_test() {
        return Ok(state.pending(format!("Service {name} set to be {verb}")));
    }
    let done = service::enable(call, name, on, &how);
    if matches!(done, Ok(true)) {
        state.changes = Map::new();
        if service::enabled(call, name, &How::default())? == on {
            state.changes.insert(name, true);
        }
        state.comment = format!("Service {name} has been {verb}, and {}", standing.words()).into();
        return Ok(state);
    }
    let verb = if on { "to start" } else { "to not start" };
    let mut comment = format!("Failed when setting service {name} {verb} at boot");
    comment.push_str(match (standing, on) {
        (Standing::Running, true) => ", but the service is running",
        (Standing::Running, false) => ", and is running",
        (Standing::Desired, _) => ", but the service was already running",
        (Standing::Dead, _) => ", and the service is dead",
    });
    match done {
        Err(CallError::Command(text)) => {
            comment.push_str(&format!(". Additional information follows:\n\n{text}"));
        }
        Err(other) => return Err(other),
        Ok(_) => {}
    }
    Ok(state.failed(comment))
}

fn enabled(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = toggle(
        call,
        &name,
        true,
        Standing::Desired,
        true,
        StateReturn::of(call),
    )?;
    let missing = format!("The named service {name} is not available");
    if call.is_test() && state.comment.as_str() == Some(&missing) {
        return Ok(state
            .pending(format!(
                "Service {name} not present; if created in this state run, it would have been enabled"
            ))
            .into());
    }
    Ok(state.into())
}

fn disabled(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    Ok(toggle(
        call,
        &name,
        false,
        Standing::Desired,
        true,
        StateReturn::of(call),
    )?
    .into())
}

fn mod_watch(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let sfun = call.text("sfun");
    let (action, verb, participle) = match sfun.as_str() {
        "dead" => {
            if !service::runs(call, &name, call.arg("sig"))? {
                return Ok(state.ok("Service is already stopped").into());
            }
            (Action::Stop, "stop", "stopped")
        }
        "running" if service::runs(call, &name, call.arg("sig"))? => {
            if call.flag("reload") && call.flag("force") {
                (
                    Action::ForceReload,
                    "forcefully reload",
                    "forcefully reloaded",
                )
            } else if call.flag("reload") {
                (Action::Reload, "reload", "reloaded")
            } else {
                (Action::Restart, "restart", "restarted")
            }
        }
        "running" => (Action::Start, "start", "started"),
        other => {
            return Ok(state
                .failed(format!("Unable to trigger watch for service.{other}"))
                .into());
        }
    };
    if call.is_test() {
        return Ok(state
            .pending(format!("Service is set to be {participle}"))
            .into());
    }
    if action == Action::Start {
        service::act(call, &name, Action::Stop, &How::default())?;
    }
    let allowed: &[&str] = if action == Action::Stop {
        &["no_block"]
    } else {
        SYSTEMD_ONLY
    };
    let how = how(call, allowed, &mut state);
    let done = match service::act(call, &name, action, &how) {
        Ok(done) => done,
        Err(CallError::Command(text)) => return Ok(state.failed(text).into()),
        Err(other) => return Err(other),
    };
    delay(call)?;
    state.changes.insert(name, done);
    Ok(if done {
        state.ok(format!("Service {participle}"))
    } else {
        state.failed(format!("Failed to {verb} the service"))
    }
    .into())
}
