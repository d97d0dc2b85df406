//! The state `mount.mounted`.

use halite_call::{Call, CallError, CallResult, StateReturn, paths};

use super::compare::{is_device, is_named_so, missing};
use crate::mount;

pub(super) fn mounted(call: &Call<'_>) -> CallResult {
    for (arg, what) in [("name", "name"), ("device", "device"), ("fstype", "fstype")] {
        if !call.flag(arg) {
            return Ok(StateReturn::of(call)
                .failed(format!("Must provide {what} to mount.mounted"))
                .into());
        }
    }
    match bring_up(call) {
        Ok(state) => Ok(state.into()),
        Err(CallError::Command(text)) => Ok(StateReturn::of(call).failed(text).into()),
        Err(other) => Err(other),
    }
}

fn bring_up(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
    let name = match call.text("name").as_str() {
        "/" => "/".to_owned(),
        name => name.trim_end_matches('/').to_owned(),
    };
    let (device, fstype) = (call.text("device"), call.text("fstype"));
    let opts = mount::options(call.arg("opts"));
    let (wanted, mkmnt) = (call.flag("mount"), call.flag("mkmnt"));
    let mut comment = String::new();
    let mut now = mount::at(call, &name);
    if let Some(found) = now.clone().filter(|_| wanted) {
        let lacks = missing(call, &opts, &found);
        let bound = opts.iter().any(|opt| opt == "bind");
        if !lacks.is_empty() && !bound {
            let list = lacks.join(",");
            if call.is_test() {
                return Ok(state.pending(format!(
                    "Remount would be forced because options ({list}) changed"
                )));
            }
            state.changes.insert(
                "umount",
                format!("Forced remount because options ({list}) changed"),
            );
            if let Err(text) = mount::remount(call, &name, &device, &fstype, &opts, mkmnt)? {
                return Ok(state.failed(text));
            }
        }
        if is_device(call, &device, &found.device) || bound {
            comment.push_str("Target was already mounted");
        } else if is_named_so(call, &found.device)? {
            comment = format!(
                "An umount will not be forced because device matched device_name_regex: {}",
                found.device
            );
        } else if call.is_test() {
            return Ok(state.pending(format!(
                "An umount would have been forced because devices do not match.  Watched: {device}"
            )));
        } else {
            state.changes.insert(
                "umount",
                format!(
                    "Forced unmount because devices don't match. Wanted: {device}, current: {}",
                    found.device
                ),
            );
            if mount::umount(call, &name, false)?.is_err() {
                return Ok(state.failed("Unable to unmount"));
            }
            now = None;
        }
    }
    let exists = call.host().path(&name).exists();
    if now.is_none() && wanted {
        if call.is_test() {
            return Ok(state.pending(if exists {
                format!("{name} would be mounted")
            } else if mkmnt {
                format!("{name} would be created and mounted")
            } else {
                format!("{name} does not exist and would not be created")
            }));
        }
        if !exists && !mkmnt {
            return Ok(state.failed("Mount directory is not present"));
        }
        if let Err(text) = mount::mount(call, &name, &device, &fstype, &opts, mkmnt)? {
            return Ok(state.failed(text));
        }
        if mount::at(call, &name).is_some() {
            comment.push_str("Target was successfully mounted");
            state.changes.insert("mount", true);
        }
    } else if !wanted {
        comment = match (exists, mkmnt) {
            (false, true) if call.is_test() => {
                state.result = None;
                format!("{name} would be created, but not mounted")
            }
            (false, true) => {
                let path = call.host().path(&name);
                paths::create_dir_all(path)
                    .map_err(|error| CallError::command(format!("{name}: {error}")))?;
                format!("{name} was created, not mounted")
            }
            (false, false) => format!("{name} not present and not mounted"),
            (true, _) if call.is_test() => format!("{name} would not be mounted"),
            (true, _) => format!("{name} not mounted"),
        };
    }
    if !call.flag("persist") {
        return Ok(state.commented(comment));
    }
    persist(call, state, &name, comment)
}

fn persist(
    call: &Call<'_>,
    mut state: StateReturn,
    name: &str,
    comment: String,
) -> Result<StateReturn, CallError> {
    let (device, fstype) = (call.text("device"), call.text("fstype"));
    let opts = mount::options(call.arg("opts")).join(",");
    let (dump, pass) = (call.text("dump"), call.text("pass_num"));
    let entry = [device.as_str(), name, &fstype, &opts, &dump, &pass];
    let outcome = mount::set_fstab(call, &call.text("config"), entry, call.is_test())?;
    if call.is_test() && outcome != "present" {
        let wanted = call.flag("mount");
        let before = if comment.is_empty() {
            comment
        } else {
            format!("{comment}. ")
        };
        return Ok(match (outcome, wanted) {
            ("new", true) => state.pending(format!(
                "{before}{name} is mounted, but needs to be written to the fstab in order to be made persistent."
            )),
            ("new", false) => state.pending(format!(
                "{before}{name} needs to be written to the fstab in order to be made persistent."
            )),
            ("change", true) => state.pending(format!(
                "{before}{name} is mounted, but its fstab entry must be updated."
            )),
            ("change", false) => state.pending(format!("{before}The {name} fstab entry must be updated.")),
            _ => state.failed(format!(
                "Unable to detect fstab status for mount point {name} due to unexpected output '{outcome}' from call to mount.set_fstab. This is most likely a bug."
            )),
        });
    }
    let more = match outcome {
        "present" => ". Entry already exists in the fstab.",
        "new" => {
            state.changes.insert("persist", "new");
            ". Added new entry to the fstab."
        }
        "change" => {
            state.changes.insert("persist", "update");
            ". Updated the entry in the fstab."
        }
        _ => {
            state.result = Some(false);
            ". However, the fstab was not found."
        }
    };
    Ok(state.commented(format!("{comment}{more}")))
}
