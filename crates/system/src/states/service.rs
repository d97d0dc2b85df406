//! States of services.

use std::time::Duration;

use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, host, python};
use halite_proto::{Map, Value};

use crate::service::{self, Action, How, Init};

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

fn state(call: &Call<'_>) -> StateReturn {
    StateReturn::new(call.arg("name").clone())
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

fn delay(call: &Call<'_>) -> Result<(), CallError> {
    let delay = call.arg("init_delay");
    if !delay.is_true() {
        return Ok(());
    }
    let seconds = python::float(delay)?;
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|error| CallError::exception("ValueError", error.to_string()))?;
    match call.cancel().sleep(duration) {
        true => Ok(()),
        false => Err(CallError::Ended(
            call.cancel().ended_by().unwrap_or_default(),
        )),
    }
}

/// The results that need no look at the service: a misspelt argument, a system
/// that does not run.
fn early(call: &Call<'_>, name: &str) -> Option<StateReturn> {
    if call.kwargs().contains_key("enabled") {
        return Some(state(call).failed(format!(
            "Service {name} uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?"
        )));
    }
    service::is_offline(call).then(|| state(call).ok("Running in OFFLINE mode. Nothing to do"))
}

fn running(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if let Some(done) = early(call, &name) {
        return Ok(done.into());
    }
    or_failed(state(call), run(call, &name))
}

fn run(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let mut state = state(call);
    if !service::available(call, name)? {
        return Ok(if call.is_test() {
            state.pending(format!(
                "Service {name} not present; if created in this state run, it would have been started"
            ))
        } else {
            state.failed(format!("The named service {name} is not available"))
        });
    }
    let sig = call.arg("sig");
    let was_running = service::runs(call, name, sig)?;
    let was_enabled = service::enabled(call, name, &How::default())?;
    let unmask = call.kwargs().get("unmask").is_some_and(Value::is_true);
    let mut unmask_comment = String::new();
    if unmask {
        let runtime = call
            .kwargs()
            .get("unmask_runtime")
            .is_some_and(Value::is_true);
        unmask_comment = python::str(&take_off_mask(call, name, runtime)?.comment);
    }
    let with_unmask = |comment: String| {
        if unmask_comment.is_empty() {
            comment
        } else {
            format!("{comment}\n{unmask_comment}")
        }
    };
    let enable = wanted(call);
    if was_running {
        state.comment = with_unmask(format!("The service {name} is already running")).into();
        return match enable {
            Some(on) if on != was_enabled => toggle(call, name, on, Standing::Desired, true, state),
            _ => Ok(state),
        };
    }
    if call.is_test() {
        return Ok(state.pending(with_unmask(format!("Service {name} is set to start"))));
    }
    let how = how(call, SYSTEMD_ONLY, &mut state);
    match service::act(call, name, Action::Start, &how) {
        Ok(true) => {}
        Ok(false) => {
            let state = state.failed(format!("Service {name} failed to start"));
            return match enable {
                Some(on) => toggle(call, name, on, Standing::Dead, false, state),
                None => Ok(state),
            };
        }
        Err(CallError::Command(text)) => return Ok(state.failed(text)),
        Err(other) => return Err(other),
    }
    delay(call)?;
    let is_running = service::runs(call, name, sig)?;
    let is_enabled = service::enabled(call, name, &How::default())?;
    if was_enabled != is_enabled || was_running != is_running {
        state.changes.insert(name, is_running);
    }
    let mut state = if is_running {
        state.ok(format!("Started service {name}"))
    } else {
        state.failed(format!("Service {name} failed to start"))
    };
    if let Some(on) = enable {
        let changes = state.changes.clone();
        state = toggle(
            call,
            name,
            on,
            Standing::after(is_running),
            is_running,
            state,
        )?;
        // What is enabled already leaves the change of the start.
        if state.changes.is_empty() && !changes.is_empty() && !was_toggled(&state) {
            state.changes = changes;
        }
    }
    finish(call, state, unmask.then_some(unmask_comment))
}

/// Whether the comment tells of a service that was enabled or disabled now.
fn was_toggled(state: &StateReturn) -> bool {
    python::str(&state.comment).contains(" has been ")
}

fn finish(
    call: &Call<'_>,
    mut state: StateReturn,
    unmask_comment: Option<String>,
) -> Result<StateReturn, CallError> {
    let mut comment = python::str(&state.comment);
    if call.arg("init_delay").is_true() {
        comment.push_str(&format!(
            "\nDelayed return for {} seconds",
            call.text("init_delay")
        ));
    }
    if let Some(more) = unmask_comment {
        comment.push('\n');
        comment.push_str(&more);
    }
    state.comment = comment.into();
    Ok(state)
}

fn dead(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if let Some(done) = early(call, &name) {
        return Ok(done.into());
    }
    or_failed(state(call), end(call, &name))
}

fn end(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let mut state = state(call);
    if !service::available(call, name)? {
        return Ok(if call.is_test() {
            state.pending(format!(
                "Service {name} not present; if created in this state run, it would have been stopped"
            ))
        } else {
            state.ok(format!("The named service {name} is not available"))
        });
    }
    let was_running = service::runs(call, name, call.arg("sig"))?;
    let was_enabled = service::enabled(call, name, &How::default())?;
    let enable = wanted(call);
    if !was_running {
        state.comment = format!("The service {name} is already dead").into();
        return match enable {
            Some(on) if on != was_enabled => toggle(call, name, on, Standing::Desired, true, state),
            _ => Ok(state),
        };
    }
    if call.is_test() {
        return Ok(state.pending(format!("Service {name} is set to be killed")));
    }
    let how = how(call, &["no_block"], &mut state);
    if !service::act(call, name, Action::Stop, &how)? {
        let state = state.failed(format!("Service {name} failed to die"));
        return match enable {
            Some(on) => toggle(call, name, on, Standing::Running, false, state),
            None => Ok(state),
        };
    }
    delay(call)?;
    let is_running = service::runs(call, name, &Value::Nil)?;
    let is_enabled = service::enabled(call, name, &How::default())?;
    if was_enabled != is_enabled || was_running != is_running {
        state.changes.insert(name, is_running);
    }
    let mut state = if is_running {
        state.failed(format!("Service {name} failed to die"))
    } else {
        state.ok(format!("Service {name} was killed"))
    };
    if let Some(on) = enable {
        let standing = Standing::after(is_running);
        state = toggle(call, name, on, standing, !is_running, state)?;
    }
    Ok(state)
}

fn enabled(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = toggle(call, &name, true, Standing::Desired, true, state(call))?;
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
    Ok(toggle(call, &name, false, Standing::Desired, true, state(call))?.into())
}

fn masked(call: &Call<'_>) -> CallResult {
    let (name, runtime) = (call.text("name"), call.flag("runtime"));
    let result = put_on_mask(call, &name, runtime);
    or_failed(state(call), result)
}

fn no_masks(call: &Call<'_>) -> Option<StateReturn> {
    (!Init::of(call).masks())
        .then(|| state(call).failed("Service masking not available on this minion"))
}

fn mask_change(kind: &str, old: bool) -> Map {
    let change = Map::from([("old", old), ("new", !old)]);
    Map::from([(kind, change)])
}

fn put_on_mask(call: &Call<'_>, name: &str, runtime: bool) -> Result<StateReturn, CallError> {
    if let Some(done) = no_masks(call) {
        return Ok(done);
    }
    let kind = if runtime { "runtime masked" } else { "masked" };
    let mut state = state(call);
    let how = How::default();
    if service::masked(call, name, runtime, &how)? {
        return Ok(state.ok(format!("Service {name} is already {kind}")));
    }
    if call.is_test() {
        state.changes = mask_change(kind, false);
        return Ok(state.pending(format!("Service {name} would be {kind}")));
    }
    service::mask(call, name, runtime, &how)?;
    if service::masked(call, name, runtime, &how)? {
        state.changes = mask_change(kind, false);
        return Ok(state.ok(format!("Service {name} was {kind}")));
    }
    state.comment = format!("Failed to mask service {name}").into();
    Ok(state)
}

fn unmasked(call: &Call<'_>) -> CallResult {
    let (name, runtime) = (call.text("name"), call.flag("runtime"));
    let result = take_off_mask(call, &name, runtime);
    or_failed(state(call), result)
}

fn take_off_mask(call: &Call<'_>, name: &str, runtime: bool) -> Result<StateReturn, CallError> {
    if let Some(done) = no_masks(call) {
        return Ok(done);
    }
    let (kind, action) = if runtime {
        ("runtime masked", "runtime unmasked")
    } else {
        ("masked", "unmasked")
    };
    let mut state = state(call);
    let how = How::default();
    if !service::masked(call, name, runtime, &how)? {
        return Ok(state.ok(format!("Service {name} was already {action}")));
    }
    if call.is_test() {
        state.changes = mask_change(kind, true);
        return Ok(state.pending(format!("Service {name} would be {action}")));
    }
    service::unmask(call, name, runtime, &how)?;
    if !service::masked(call, name, runtime, &how)? {
        state.changes = mask_change(kind, true);
        return Ok(state.ok(format!("Service {name} was {action}")));
    }
    state.comment = format!("Failed to unmask service {name}").into();
    Ok(state)
}

fn mod_watch(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = state(call);
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
