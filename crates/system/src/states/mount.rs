//! States of file systems.

use halite_modules::{Call, CallError, CallResult, Function, Module, StateReturn, python};

use crate::mount::{self, Active};

pub(crate) const MODULE: Module = Module {
    name: "mount",
    functions: &[
        Function::new(
            "mount.fstab_absent",
            "(name, fs_file, mount_by=None, config='/etc/fstab')",
            fstab_absent,
            "The next start does not mount a device.",
        ),
        Function::new(
            "mount.fstab_present",
            "(name, fs_file, fs_vfstype, fs_mntops='defaults', fs_freq=0, fs_passno=0, mount_by=None, config='/etc/fstab', mount=True, match_on='auto', not_change=False, fs_mount=True)",
            fstab_present,
            "The next start mounts a device.",
        ),
        Function::new(
            "mount.mod_watch",
            "(name, user=None, **kwargs)",
            super::swap::mod_watch,
            "Mounts anew what is mounted, since what it watches has changed.",
        ),
        Function::new(
            "mount.mounted",
            "(name, device, fstype, mkmnt=False, opts='defaults', dump=0, pass_num=0, config='/etc/fstab', persist=True, mount=True, user=None, match_on='auto', device_name_regex=None, extra_mount_invisible_options=None, extra_mount_invisible_keys=None, extra_mount_ignore_fs_keys=None, extra_mount_translate_options=None, hidden_opts=None, bind_mount_copy_active_opts=True, **kwargs)",
            mounted,
            "A device is mounted, also after the next start.",
        ),
        Function::new(
            "mount.swap",
            "(name, persist=True, config='/etc/fstab')",
            super::swap::swap,
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

/// Options that the kernel does not show.
const INVISIBLE: &[&str] = &[
    "_netdev",
    "actimeo",
    "bg",
    "comment",
    "defaults",
    "delay_connect",
    "direct-io-mode",
    "intr",
    "loop",
    "nointr",
    "nobootwait",
    "nofail",
    "password",
    "reconnect",
    "retry",
    "soft",
    "auto",
    "noauto",
    "users",
    "user",
    "bind",
    "nonempty",
    "transform_symlinks",
    "port",
    "backup-volfile-servers",
    "credentials",
    "secretfile",
    "rw",
];

fn state(call: &Call<'_>) -> StateReturn {
    StateReturn::new(call.arg("name").clone())
}

/// Sizes in kibibytes, as the kernel shows them.
fn normal(opt: &str) -> String {
    let Some(size) = opt.strip_prefix("size=") else {
        return opt.to_owned();
    };
    let (number, unit) = size.split_at(
        size.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(size.len()),
    );
    let factor = match unit {
        "k" | "K" => 1,
        "m" | "M" => 1024,
        "g" | "G" => 1024 * 1024,
        _ => return opt.to_owned(),
    };
    match number.parse::<u64>() {
        Ok(number) => format!("size={}k", number.saturating_mul(factor)),
        Err(_) => opt.to_owned(),
    }
}

/// The options that what is mounted lacks.
fn missing(call: &Call<'_>, opts: &[String], now: &Active) -> Vec<String> {
    let mut invisible: Vec<String> = INVISIBLE.iter().map(|opt| (*opt).to_owned()).collect();
    for arg in [
        "extra_mount_invisible_options",
        "hidden_opts",
        "extra_mount_invisible_keys",
    ] {
        invisible.extend(mount::options(call.arg(arg)));
    }
    let active: Vec<String> = now.opts.iter().map(|opt| normal(opt)).collect();
    let mut missing: Vec<String> = opts
        .iter()
        .map(|opt| normal(opt))
        .filter(|opt| {
            let key = opt.split('=').next().unwrap_or(opt);
            !active.contains(opt)
                && !invisible
                    .iter()
                    .any(|hidden| hidden == opt || hidden == key)
                && !opt.starts_with("x-")
        })
        .collect();
    missing.sort();
    missing
}

/// Whether what is mounted is the wanted device, under one of its names.
fn is_device(call: &Call<'_>, wanted: &str, now: &str) -> bool {
    let real = |device: &str| {
        let by = [
            ("UUID=", "by-uuid"),
            ("LABEL=", "by-label"),
            ("PARTUUID=", "by-partuuid"),
        ];
        let named = by.iter().find_map(|(prefix, directory)| {
            let id = device.strip_prefix(prefix)?.trim_matches('"');
            Some(format!("/dev/disk/{directory}/{id}"))
        });
        let path = named.unwrap_or_else(|| device.to_owned());
        let real = std::fs::canonicalize(call.host().path(&path));
        real.map_or(path, |path| path.display().to_string())
    };
    wanted == now || (now.starts_with('/') && real(wanted) == real(now))
}

/// Whether what is mounted may have its name, though it is not the wanted one
/// (`device_name_regex`): some file systems show one server of many.
fn is_named_so(call: &Call<'_>, now: &str) -> Result<bool, CallError> {
    for pattern in python::texts(call.arg("device_name_regex")) {
        let matches = halite_target::pcre::match_start(&pattern, now).map_err(|error| {
            CallError::command(format!("device_name_regex {pattern:?}: {error}"))
        })?;
        if matches {
            return Ok(true);
        }
    }
    Ok(false)
}

fn mounted(call: &Call<'_>) -> CallResult {
    for (arg, what) in [("name", "name"), ("device", "device"), ("fstype", "fstype")] {
        if !call.flag(arg) {
            return Ok(state(call)
                .failed(format!("Must provide {what} to mount.mounted"))
                .into());
        }
    }
    match bring_up(call) {
        Ok(state) => Ok(state.into()),
        Err(CallError::Command(text)) => Ok(state(call).failed(text).into()),
        Err(other) => Err(other),
    }
}

fn bring_up(call: &Call<'_>) -> Result<StateReturn, CallError> {
    let mut state = state(call);
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
                std::fs::create_dir_all(path)
                    .map_err(|error| CallError::command(format!("{name}: {error}")))?;
                format!("{name} was created, not mounted")
            }
            (false, false) => format!("{name} not present and not mounted"),
            (true, _) if call.is_test() => format!("{name} would not be mounted"),
            (true, _) => format!("{name} not mounted"),
        };
    }
    if !call.flag("persist") {
        return Ok(state.clone_with(comment));
    }
    persist(call, state, &name, comment)
}

/// A small help: the same state with a comment.
trait Commented {
    fn clone_with(self, comment: String) -> StateReturn;
}

impl Commented for StateReturn {
    fn clone_with(mut self, comment: String) -> StateReturn {
        self.comment = comment.into();
        self
    }
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
    Ok(state.clone_with(format!("{comment}{more}")))
}

fn unmounted(call: &Call<'_>) -> CallResult {
    let mut state = state(call);
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
    Ok(state.clone_with(comment).into())
}

fn fstab_present(call: &Call<'_>) -> CallResult {
    let mut state = state(call);
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

fn fstab_absent(call: &Call<'_>) -> CallResult {
    let mut state = state(call);
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
