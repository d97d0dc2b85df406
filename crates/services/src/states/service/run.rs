//! Whether services run.
use std::time::Duration;

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::Value;

use super::mask::take_off_mask;
use super::{SYSTEMD_ONLY, Standing, how, or_failed, toggle, wanted};
use crate::service::{self, Action, How};

pub(super) fn delay(call: &Call<'_>) -> Result<(), CallError> {
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
pub(super) fn early(call: &Call<'_>, name: &str) -> Option<StateReturn> {
    if call.kwargs().contains_key("enabled") {
        return Some(StateReturn::of(call).failed(format!(
            "Service {name} uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?"
        )));
    }
    service::is_offline(call)
        .then(|| StateReturn::of(call).ok("Running in OFFLINE mode. Nothing to do"))
}

pub(super) fn running(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if let Some(done) = early(call, &name) {
        return Ok(done.into());
    }
    or_failed(StateReturn::of(call), run(call, &name))
}

pub(super) fn run(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
    if !service::available(call, name)? {
        return Ok(if call.is_test() {
            state.pending(format!(
                "Service {name} not present; if created in this state run, it would have been started"
            ))
        } else {
            state.failed(format!("The named service {name} is not available"))
        });
    }
    let was_running = service::runs(call, name, call.arg("sig"))?;
    let was_enabled = service::enabled(call, name, &How::default())?;
    let unmasked = unmask(call, name)?;
    let with_unmask = |comment: String| match unmasked.as_deref() {
        None | Some("") => comment,
        Some(more) => format!("{comment}\n{more}"),
    };
    if was_running {
        state.comment = with_unmask(format!("The service {name} is already running")).into();
        return match wanted(call) {
            Some(on) if on != was_enabled => toggle(call, name, on, Standing::Desired, true, state),
            _ => Ok(state),
        };
    }
    if call.is_test() {
        return Ok(state.pending(with_unmask(format!("Service {name} is set to start"))));
    }
    start(call, name, was_enabled, unmasked, state)
}

/// Removes the mask if the state asks for that; returns the comment about it.
fn unmask(call: &Call<'_>, name: &str) -> Result<Option<String>, CallError> {
    let has = |option: &str| call.kwargs().get(option).is_some_and(Value::is_true);
    if !has("unmask") {
        return Ok(None);
    }
    let state = take_off_mask(call, name, has("unmask_runtime"))?;
    Ok(Some(python::str(&state.comment)))
}

/// Starts a service that does not run.
fn start(
    call: &Call<'_>,
    name: &str,
    was_enabled: bool,
    unmasked: Option<String>,
    mut state: StateReturn,
) -> Result<StateReturn, CallError> {
    let how = how(call, SYSTEMD_ONLY, &mut state);
    match service::act(call, name, Action::Start, &how) {
        Ok(true) => {}
        Ok(false) => {
            let state = state.failed(format!("Service {name} failed to start"));
            return match wanted(call) {
                Some(on) => toggle(call, name, on, Standing::Dead, false, state),
                None => Ok(state),
            };
        }
        Err(CallError::Command(text)) => return Ok(state.failed(text)),
        Err(other) => return Err(other),
    }
    delay(call)?;
    let state = started(call, name, was_enabled, state)?;
    finish(call, state, unmasked)
}

/// The outcome after a service was started, which is enabled or disabled if the state
/// asks for that.
fn started(
    call: &Call<'_>,
    name: &str,
    was_enabled: bool,
    mut state: StateReturn,
) -> Result<StateReturn, CallError> {
    let is_running = service::runs(call, name, call.arg("sig"))?;
    let is_enabled = service::enabled(call, name, &How::default())?;
    if was_enabled != is_enabled || is_running {
        state.changes.insert(name, is_running);
    }
    let mut state = if is_running {
        state.ok(format!("Started service {name}"))
    } else {
        state.failed(format!("Service {name} failed to start"))
    };
    if let Some(on) = wanted(call) {
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
    Ok(state)
}

/// Whether the comment tells of a service that was enabled or disabled now.
pub(super) fn was_toggled(state: &StateReturn) -> bool {
    python::str(&state.comment).contains(" has been ")
}

pub(super) fn finish(
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

pub(super) fn dead(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if let Some(done) = early(call, &name) {
        return Ok(done.into());
    }
    or_failed(StateReturn::of(call), end(call, &name))
}

pub(super) fn end(call: &Call<'_>, name: &str) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
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
