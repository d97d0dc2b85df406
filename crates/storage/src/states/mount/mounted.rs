//! The state `mount.mounted`.

use std::ops::ControlFlow;

use halite_call::{Call, CallError, CallResult, StateReturn, os_error, paths};

use super::compare::{is_device, is_named_so, missing};
use crate::mount::{self, Active};

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

/// What is to be mounted, and where.
struct Mount {
    name: String,
    device: String,
    fstype: String,
    opts: Vec<String>,
    /// Whether the directory is made if it is not there.
    mkmnt: bool,
}

fn bring_up(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let mut state = StateReturn::of(call);
    let mount = Mount {
        name: match call.text("name").as_str() {
            "/" => "/".to_owned(),
            name => name.trim_end_matches('/').to_owned(),
        },
        device: call.text("device"),
        fstype: call.text("fstype"),
        opts: mount::options(call.arg("opts")),
        mkmnt: call.flag("mkmnt"),
    };
    let step = if !call.flag("mount") {
        mount.leave_unmounted(call, &mut state)?
    } else if let Some(found) = mount::at(call, &mount.name) {
        mount.replace(call, &mut state, &found)?
    } else {
        mount.mount(call, &mut state)?
    };
    let comment = match step {
        ControlFlow::Break(answer) => return Ok(answer),
        ControlFlow::Continue(comment) => comment,
    };
    if !call.flag("persist") {
        return Ok(state.commented(comment));
    }
    persist(call, state, &mount.name, comment)
}

/// The comment of a step, or the answer of one that was the last.
type Step = Result<ControlFlow<StateReturn, String>, CallError>;

impl Mount {
    /// Something is mounted there: it stays, gets other options, or makes way.
    fn replace(&self, call: &Call<'_>, state: &mut StateReturn, found: &Active) -> Step {
        let is_bound = self.opts.iter().any(|opt| opt == "bind");
        let lacks = missing(call, &self.opts, found);
        if !lacks.is_empty() && !is_bound {
            let list = lacks.join(",");
            if call.is_test() {
                let text = format!("Remount would be forced because options ({list}) changed");
                return Ok(ControlFlow::Break(state.clone().pending(text)));
            }
            let text = format!("Forced remount because options ({list}) changed");
            state.changes.insert("umount", text);
            let Self {
                name,
                device,
                fstype,
                opts,
                mkmnt,
            } = self;
            if let Err(text) = mount::remount(call, name, device, fstype, opts, *mkmnt)? {
                return Ok(ControlFlow::Break(state.clone().failed(text)));
            }
        }
        let (device, current) = (&self.device, &found.device);
        if is_device(call, device, current) || is_bound {
            let text = "Target was already mounted";
            return Ok(ControlFlow::Continue(text.to_owned()));
        }
        if is_named_so(call, current)? {
            return Ok(ControlFlow::Continue(format!(
                "An umount will not be forced because device matched device_name_regex: {current}"
            )));
        }
        if call.is_test() {
            return Ok(ControlFlow::Break(state.clone().pending(format!(
                "An umount would have been forced because devices do not match.  Watched: {device}"
            ))));
        }
        let text = format!(
            "Forced unmount because devices don't match. Wanted: {device}, current: {current}"
        );
        state.changes.insert("umount", text);
        if mount::umount(call, &self.name, false)?.is_err() {
            let text = "Unable to unmount";
            return Ok(ControlFlow::Break(state.clone().failed(text)));
        }
        self.mount(call, state)
    }

    /// Nothing is mounted there.
    fn mount(&self, call: &Call<'_>, state: &mut StateReturn) -> Step {
        let Self {
            name,
            device,
            fstype,
            opts,
            mkmnt,
        } = self;
        let exists = call.host().path(name).exists();
        if call.is_test() {
            let text = if exists {
                format!("{name} would be mounted")
            } else if *mkmnt {
                format!("{name} would be created and mounted")
            } else {
                format!("{name} does not exist and would not be created")
            };
            return Ok(ControlFlow::Break(state.clone().pending(text)));
        }
        if !exists && !mkmnt {
            let text = "Mount directory is not present";
            return Ok(ControlFlow::Break(state.clone().failed(text)));
        }
        if let Err(text) = mount::mount(call, name, device, fstype, opts, *mkmnt)? {
            return Ok(ControlFlow::Break(state.clone().failed(text)));
        }
        if mount::at(call, name).is_none() {
            return Ok(ControlFlow::Continue(String::new()));
        }
        state.changes.insert("mount", true);
        let text = "Target was successfully mounted";
        Ok(ControlFlow::Continue(text.to_owned()))
    }

    /// Only the directory is asked for.
    fn leave_unmounted(&self, call: &Call<'_>, state: &mut StateReturn) -> Step {
        let name = &self.name;
        let path = call.host().path(name);
        let comment = match (path.exists(), self.mkmnt) {
            (false, true) if call.is_test() => {
                state.result = None;
                format!("{name} would be created, but not mounted")
            }
            (false, true) => {
                paths::create_dir_all(path).map_err(|error| os_error(&error, name))?;
                format!("{name} was created, not mounted")
            }
            (false, false) => format!("{name} not present and not mounted"),
            (true, _) if call.is_test() => format!("{name} would not be mounted"),
            (true, _) => format!("{name} not mounted"),
        };
        Ok(ControlFlow::Continue(comment))
    }
}

/// Has the mount in the fstab.
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
