//! The mounts of the next start: the states of the file `fstab`.

use halite_call::{Call, CallResult, StateReturn};

use crate::mount;

pub(super) fn fstab_present(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let (device, name, fstype) = (
        call.text("name"),
        call.text("fs_file"),
        call.text("fs_vfstype"),
    );
    let opts = mount::options(call.arg("fs_mntops")).join(",");
    let (dump, pass, config) = (
        call.text("fs_freq"),
        call.text("fs_passno"),
        call.text("config"),
    );
    let entry = [device.as_str(), &name, &fstype, &opts, &dump, &pass];
    let outcome = mount::set_fstab(call, &config, entry, call.is_test())?;
    let mounts = call.flag("mount");
    Ok(match (outcome, call.is_test()) {
        ("present", true) => state.ok(format!("{name} entry is already in {config}.")),
        ("present", false) => state.ok(format!("{name} entry was already in {config}.")),
        ("new", true) => {
            let mut text = format!("{name} entry will be written in {config}.");
            if mounts {
                text.push_str(&format!("\nWill mount {device} on {name}"));
            }
            state.pending(text)
        }
        ("change", true) => state.pending(format!("{name} entry will be updated in {config}.")),
        ("new", false) => {
            state.changes.insert("persist", outcome);
            let text = format!("{name} entry added in {config}.");
            if !mounts {
                return Ok(state.ok(text).into());
            }
            let opts = mount::options(call.arg("fs_mntops"));
            match mount::mount_at(call, &name, &device, &fstype, &opts)? {
                Ok(()) => state.ok(format!("{text}\nMounted {device} on {name}")),
                Err(complaint) => {
                    let why = complaint
                        .split_once(':')
                        .map_or(&*complaint, |(_, why)| why);
                    state.failed(format!("{text}\nError while mounting {why}"))
                }
            }
        }
        ("change", false) => {
            state.changes.insert("persist", outcome);
            state.ok(format!("{name} entry updated in {config}."))
        }
        _ => state.failed(format!(
            "{name} entry cannot be created in {config}: {outcome}."
        )),
    }
    .into())
}

pub(super) fn fstab_absent(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let (name, config) = (call.text("fs_file"), call.text("config"));
    if !mount::in_fstab(call, &config, &name) {
        let text = format!("{name} entry is already missing in {config}.");
        return Ok(if call.is_test() {
            state.pending(text)
        } else {
            state.ok(text)
        }
        .into());
    }
    if call.is_test() {
        return Ok(state
            .pending(format!("{name} entry will be removed from {config}."))
            .into());
    }
    mount::rm_fstab(call, &config, &name, None)?;
    state.changes.insert("persist", "removed");
    Ok(state
        .ok(format!("{name} entry removed from {config}."))
        .into())
}
