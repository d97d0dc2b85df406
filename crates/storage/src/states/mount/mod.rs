//! States of file systems.

mod compare;
mod fstab;
mod mounted;
mod swap;

use compare::is_device;
use halite_call::{Call, CallResult, Function, Module, StateReturn};

use crate::mount;

pub(crate) const MODULE: Module = Module {
    name: "mount",
    functions: &[
        Function::new(
            "mount.fstab_absent",
            "(name, fs_file, mount_by=None, config='/etc/fstab')",
            fstab::fstab_absent,
            "The next start does not mount a device.",
        ),
        Function::new(
            "mount.fstab_present",
            "(name, fs_file, fs_vfstype, fs_mntops='defaults', fs_freq=0, fs_passno=0, mount_by=None, config='/etc/fstab', mount=True, match_on='auto', not_change=False, fs_mount=True)",
            fstab::fstab_present,
            "The next start mounts a device.",
        ),
        Function::new(
            "mount.mod_watch",
            "(name, user=None, **kwargs)",
            swap::mod_watch,
            "Mounts anew what is mounted, since what it watches has changed.",
        ),
        Function::new(
            "mount.mounted",
            "(name, device, fstype, mkmnt=False, opts='defaults', dump=0, pass_num=0, config='/etc/fstab', persist=True, mount=True, user=None, match_on='auto', device_name_regex=None, extra_mount_invisible_options=None, extra_mount_invisible_keys=None, extra_mount_ignore_fs_keys=None, extra_mount_translate_options=None, hidden_opts=None, bind_mount_copy_active_opts=True, **kwargs)",
            mounted::mounted,
            "A device is mounted, also after the next start.",
        ),
        Function::new(
            "mount.swap",
            "(name, persist=True, config='/etc/fstab')",
            swap::swap,
            "Swap space is in use, also after the next start.",
        ),
        Function::new(
            "mount.unmounted",
            "(name, device=None, config='/etc/fstab', persist=False, user=None, **kwargs)",
            unmounted,
            "Nothing is mounted at a place.",
        ),
    ],
};

fn unmounted(call: &Call<'_>) -> CallResult {
    let mut state = StateReturn::of(call);
    let name = call.text("name");
    let config = call.text("config");
    let device = call.text_opt("device");
    let found = mount::at(call, &name).filter(|found| {
        device
            .as_ref()
            .is_none_or(|device| is_device(call, device, &found.device))
    });
    let mut comment = "Target was already unmounted".to_owned();
    if found.is_some() {
        if call.is_test() {
            return Ok(state
                .pending(format!("Mount point {name} is mounted but should not be"))
                .into());
        }
        if let Err(text) = mount::umount(call, &name, false)? {
            return Ok(state.failed(text).into());
        }
        comment = "Target was successfully unmounted".to_owned();
        state.changes.insert("umount", true);
    }
    if call.flag("persist") {
        if !mount::in_fstab(call, &config, &name) {
            comment.push_str(". fstab entry not found");
        } else if call.is_test() {
            return Ok(state
                .pending(format!(
                    "Mount point {name} is unmounted but needs to be purged from {config} to be made persistent"
                ))
                .into());
        } else {
            mount::rm_fstab(call, &config, &name, device.as_deref())?;
            comment.push_str(". Removed target from fstab");
            state.changes.insert("persist", "purged");
        }
    }
    Ok(state.commented(comment).into())
}
