//! States of block devices.

use std::thread;
use std::time::Duration;

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::devices::is_block;

/// How often, and how long apart, a new file system is looked for: it is not
/// there at once for everyone.
const LOOKS_MAX: usize = 10;
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The file systems that can be made.
const KINDS: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

pub(crate) const MODULE: Module = Module {
    name: "blockdev",
    functions: &[
        Function::new(
            "blockdev.formatted",
            "(name, fs_type='ext4', force=False, **kwargs)",
            formatted,
            "A device has a file system of a kind: ext2, ext3, ext4 or xfs. What it\nhas had is lost; further arguments are those of disk.format.",
        ),
        Function::new(
            "blockdev.tuned",
            "(name, **kwargs)",
            tuned,
            "A device has settings: read-only, filesystem-read-ahead and\nread-ahead (sectors of 512 bytes).",
        ),
    ],
};

/// The file system of a device, as it is found on it: what the system
/// remembers of it may be old.
fn file_system(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    let asked = Program::new(call, &["blkid", "-o", "value", "-s", "TYPE", name]);
    Ok(asked.may_fail().run()?.stdout)
}

fn formatted(call: &Call<'_>) -> CallResult {
    let (name, kind) = (call.text("name"), call.text("fs_type"));
    let state = StateReturn::of(call);
    if !call.host().path(&name).exists() {
        return Ok(state.failed(format!("{name} does not exist")).into());
    }
    if file_system(call, &name)? == kind {
        let comment = format!("{name} already formatted with {kind}");
        return Ok(state.ok(comment).into());
    }
    if !KINDS.contains(&kind.as_str()) {
        return Ok(state.failed(format!("Invalid fs_type: {kind}")).into());
    }
    if call.is_test() {
        let comment = format!("Changes to {name} will be applied ");
        return Ok(state.pending(comment).into());
    }
    let mut arguments = call.own_kwargs();
    arguments.insert("fs_type", kind.as_str());
    arguments.insert("force", call.flag("force"));
    let is_made = call.salt("disk.format", &[name.as_str().into()], arguments)?;
    if is_made.is_true() && appears(call, &name, &kind)? {
        // Salt has the new kind in both places.
        return Ok(state
            .change("new", kind.as_str())
            .change("old", kind.as_str())
            .ok(format!("{name} has been formatted with {kind}"))
            .into());
    }
    Ok(state.failed(format!("Failed to format {name}")).into())
}

/// Whether the device comes to have the file system, rather than another.
fn appears(call: &Call<'_>, name: &str, kind: &str) -> Result<bool, CallError> {
    for look in 1..=LOOKS_MAX {
        match file_system(call, name)? {
            found if found.is_empty() && look < LOOKS_MAX => thread::sleep(LOOK_INTERVAL),
            found => return Ok(found == kind),
        }
    }
    Ok(false)
}

/// What `disk.dump` calls a setting.
fn dumped(key: &str) -> &str {
    match key {
        "read-ahead" => "getra",
        "filesystem-read-ahead" => "getfra",
        "read-only" => "getro",
        other => other,
    }
}

/// A setting as changes show it: the one that is on or off as truth.
fn shown(key: &str, value: Option<&Value>) -> String {
    let text = value.map(python::str).unwrap_or_default();
    match (key, text.as_str()) {
        ("read-only", "1") => "True".to_owned(),
        ("read-only", "0") => "False".to_owned(),
        _ => text,
    }
}

fn tuned(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    if !is_block(call, &name) {
        let comment = format!("Changes to {name} cannot be applied. Not a block device.");
        return Ok(state.failed(comment).into());
    }
    if call.is_test() {
        let comment = format!("Changes to {name} will be applied ");
        return Ok(state.pending(comment).into());
    }
    let wanted = call.own_kwargs();
    let one = [Value::from(name.as_str())];
    let before = call.salt("disk.dump", &one, Map::new())?;
    let after = call.salt("disk.tune", &one, wanted.clone())?;
    for key in wanted.keys().map(python::str) {
        let old = shown(&key, before.get(dumped(&key)));
        let new = shown(&key, after.get(dumped(&key)));
        if old != new {
            state = state.change(key, format!("Changed from {old} to {new}"));
        }
    }
    let comment = match state.changes.is_empty() {
        true => format!("Block device {name} already in correct state"),
        false => format!("Block device {name} successfully modified "),
    };
    Ok(state.ok(comment).into())
}
