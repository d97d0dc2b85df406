//! States of swap space, and reactions of mounts to watched states.

use halite_call::{Call, CallError, CallResult, StateReturn, python};
use halite_proto::{Map, Value};

use crate::mount;

fn swaps(call: &Call<'_>) -> Result<Map, CallError> {
    let swaps = call.salt("mount.swaps", &[], Map::new())?;
    Ok(swaps.as_map().cloned().unwrap_or_default())
}

/// The device behind a link.
fn real(call: &Call<'_>, name: &str) -> String {
    let Ok(target) = std::fs::read_link(call.host().path(name)) else {
        return name.to_owned();
    };
    if target.is_absolute() {
        return target.display().to_string();
    }
    let last = target.file_name().unwrap_or_default().to_string_lossy();
    format!("/dev/{last}")
}

pub(super) fn swap(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let device = real(call, &name);
    let mut state = StateReturn::of(call);
    let mut on = swaps(call)?;
    state = if on.contains_key(&device) {
        state.ok(format!("Swap {name} already active"))
    } else if call.is_test() {
        state.pending(format!("Swap {name} is set to be activated"))
    } else {
        call.salt("mount.swapon", &[device.as_str().into()], Map::new())?;
        on = swaps(call)?;
        match on.get(&device) {
            Some(Value::Map(stats)) => {
                state.changes = stats.clone();
                state.ok(format!("Swap {name} activated"))
            }
            _ => state.failed(format!("Swap {name} failed to activate")),
        }
    };
    if call.flag("persist") {
        state = persist(call, state, &name, &on)?;
    }
    Ok(state.into())
}

fn persist(
    call: &Call<'_>,
    mut state: StateReturn,
    name: &str,
    on: &Map,
) -> Result<StateReturn, CallError> {
    let config = call.text("config");
    let fstab = call.salt("mount.fstab", &[config.as_str().into()], Map::new())?;
    let fstab = fstab.as_map().cloned().unwrap_or_default();
    if call.is_test() {
        let is_device = |(_, entry): (&Value, &Value)| {
            entry.get("device").and_then(Value::as_str) == Some(name)
        };
        if !fstab.contains_key(name) && !fstab.iter().any(is_device) {
            state.result = None;
            if on.contains_key(name) {
                state.comment =
                    format!("Swap {name} is set to be added to the fstab and to be activated")
                        .into();
            }
        }
        return Ok(state);
    }
    if let Some(entry) = fstab.get("none") {
        let of = |key: &str| entry.get(key).and_then(Value::as_str);
        if of("device") == Some(name) && of("fstype") != Some("swap") {
            return Ok(state);
        }
    }
    let entry = [name, "none", "swap", "defaults", "0", "0"];
    let (change, said) = match mount::set_fstab(call, &config, entry, false)? {
        "new" => ("new", ". Added new entry to the fstab."),
        "change" => ("update", ". Updated the entry in the fstab."),
        "bad config" => {
            state.result = Some(false);
            ("", ". However, the fstab was not found.")
        }
        _ => return Ok(state),
    };
    if !change.is_empty() {
        state.changes.insert("persist", change);
    }
    state.comment = format!("{}{said}", python::str(&state.comment)).into();
    Ok(state)
}

pub(super) fn mod_watch(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    let given = |key: &str| {
        let value = call.kwargs().get(key).cloned();
        value.ok_or_else(|| CallError::exception("KeyError", format!("'{key}'")))
    };
    let fun = python::str(&given("sfun")?);
    if fun != "mounted" {
        return Ok(state
            .ok(format!("Watch not supported in {fun} at this time"))
            .into());
    }
    let opts = call.kwargs().get("opts").cloned();
    let opts = mount::options(&opts.unwrap_or_else(|| "defaults".into()));
    let (device, fstype) = (
        python::str(&given("device")?),
        python::str(&given("fstype")?),
    );
    Ok(
        match mount::remount(call, &name, &device, &fstype, &opts, false)? {
            Ok(()) => state.ok(format!("{name} remounted")),
            Err(why) => state.failed(format!("{name} failed to remount: {why}")),
        }
        .into(),
    )
}
