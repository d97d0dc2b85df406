//! Services that cannot be started.
use halite_call::{Call, CallError, CallResult, StateReturn};
use halite_proto::Map;

use super::or_failed;
use crate::service::{self, How, Init};

pub(super) fn masked(call: &Call<'_>) -> CallResult {
    let (name, runtime) = (call.text("name"), call.flag("runtime"));
    let result = put_on_mask(call, &name, runtime);
    or_failed(StateReturn::of(call), result)
}

pub(super) fn no_masks(call: &Call<'_>) -> Option<StateReturn> {
    (!Init::of(call).masks() && !service::is_offline(call))
        .then(|| StateReturn::of(call).failed("Service masking not available on this minion"))
}

pub(super) fn mask_change(kind: &str, old: bool) -> Map {
    let change = Map::from([("old", old), ("new", !old)]);
    Map::from([(kind, change)])
}

pub(super) fn put_on_mask(
    call: &Call<'_>,
    name: &str,
    runtime: bool,
) -> Result<StateReturn, CallError> {
    if let Some(done) = no_masks(call) {
        return Ok(done);
    }
    let kind = if runtime { "runtime masked" } else { "masked" };
    let mut state = StateReturn::of(call);
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

pub(super) fn unmasked(call: &Call<'_>) -> CallResult {
    let (name, runtime) = (call.text("name"), call.flag("runtime"));
    let result = take_off_mask(call, &name, runtime);
    or_failed(StateReturn::of(call), result)
}

pub(super) fn take_off_mask(
    call: &Call<'_>,
    name: &str,
    runtime: bool,
) -> Result<StateReturn, CallError> {
    if let Some(done) = no_masks(call) {
        return Ok(done);
    }
    let (kind, action) = if runtime {
        ("runtime masked", "runtime unmasked")
    } else {
        ("masked", "unmasked")
    };
    let mut state = StateReturn::of(call);
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
