//! States of physical volumes, of their groups and of logical volumes.

mod size;

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

use crate::devices::real_path;
use size::{Size, megabytes};

pub(crate) const MODULE: Module = Module {
    name: "lvm",
    functions: &[
        Function::new(
            "lvm.lv_absent",
            "(name, vgname=None)",
            lv_absent,
            "There is no logical volume of a name in a group.",
        ),
        Function::new(
            "lvm.lv_present",
            "(name, vgname=None, size=None, extents=None, snapshot=None, pv='', thinvolume=False, thinpool=False, force=False, resizefs=False, **kwargs)",
            lv_present,
            "There is a logical volume, with a size (MiB, or with s, m, g, t or p) or\nwith so many extents; further arguments are options of lvcreate.",
        ),
        Function::new(
            "lvm.pv_absent",
            "(name)",
            pv_absent,
            "A device is no physical volume.",
        ),
        Function::new(
            "lvm.pv_present",
            "(name, **kwargs)",
            pv_present,
            "A device is a physical volume; further arguments are options of pvcreate.",
        ),
        Function::new(
            "lvm.vg_absent",
            "(name)",
            vg_absent,
            "There is no group of a name.",
        ),
        Function::new(
            "lvm.vg_present",
            "(name, devices=None, **kwargs)",
            vg_present,
            "There is a group of devices; further arguments are options of vgcreate.",
        ),
    ],
};

/// What a program displays of a name; nothing if it knows none.
fn displayed(call: &Call<'_>, kind: VolumeKind, name: &str) -> CallResult {
    let quiet = Map::from([("quiet", true)]);
    call.salt(kind.display(), &[name.into()], quiet)
}

/// What there is, as comments call it.
#[derive(Clone, Copy)]
enum VolumeKind {
    Physical,
    Group,
    Logical,
}

impl VolumeKind {
    fn shown(self) -> &'static str {
        match self {
            Self::Physical => "Physical Volume",
            Self::Group => "Volume Group",
            Self::Logical => "Logical Volume",
        }
    }

    fn display(self) -> &'static str {
        match self {
            Self::Physical => "lvm.pvdisplay",
            Self::Group => "lvm.vgdisplay",
            Self::Logical => "lvm.lvdisplay",
        }
    }
}

/// Removes what `path` displays, with `remove`, and looks whether it is gone.
fn gone(
    call: &Call<'_>,
    kind: VolumeKind,
    path: &str,
    absent: &str,
    remove: impl FnOnce() -> CallResult,
) -> CallResult {
    let (name, what) = (call.text("name"), kind.shown());
    let state = StateReturn::of(call);
    if !displayed(call, kind, path)?.is_true() {
        return Ok(state.ok(format!("{what} {name} {absent}")).into());
    }
    if call.is_test() {
        let comment = format!("{what} {name} is set to be removed");
        return Ok(state.pending(comment).into());
    }
    let said = remove()?;
    Ok(match displayed(call, kind, path)?.is_true() {
        true => state.failed(format!("Failed to remove {what} {name}")),
        false => state
            .change("removed", said)
            .ok(format!("Removed {what} {name}")),
    }
    .into())
}

fn pv_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    gone(call, VolumeKind::Physical, &name, "does not exist", || {
        call.salt("lvm.pvremove", &[name.as_str().into()], Map::new())
    })
}

fn vg_absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    gone(call, VolumeKind::Group, &name, "already absent", || {
        call.salt("lvm.vgremove", &[name.as_str().into()], Map::new())
    })
}

fn lv_absent(call: &Call<'_>) -> CallResult {
    let (name, group) = (call.text("name"), call.text("vgname"));
    let path = format!("/dev/{group}/{name}");
    gone(call, VolumeKind::Logical, &path, "already absent", || {
        let both = [name.as_str().into(), group.as_str().into()];
        call.salt("lvm.lvremove", &both, Map::new())
    })
}

/// Makes what `path` displays, with `make`, and looks whether it is there.
fn made(
    call: &Call<'_>,
    (kind, name, path): (VolumeKind, &str, &str),
    failure: impl FnOnce(&Value) -> String,
    make: impl FnOnce() -> CallResult,
) -> CallResult {
    let what = kind.shown();
    let state = StateReturn::of(call);
    if call.is_test() {
        let comment = format!("{what} {name} is set to be created");
        return Ok(state.pending(comment).into());
    }
    let said = make()?;
    Ok(match displayed(call, kind, path)?.is_true() {
        true => state
            .change("created", said)
            .ok(format!("Created {what} {name}")),
        false => state.failed(format!("Failed to create {what} {name}{}", failure(&said))),
    }
    .into())
}

fn pv_present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    if displayed(call, VolumeKind::Physical, &name)?.is_true() {
        let state = StateReturn::of(call);
        let comment = format!("Physical Volume {name} already present");
        return Ok(state.ok(comment).into());
    }
    let what = (VolumeKind::Physical, name.as_str(), name.as_str());
    made(
        call,
        what,
        |_| String::new(),
        || call.salt("lvm.pvcreate", &[name.as_str().into()], call.own_kwargs()),
    )
}

fn vg_present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let devices = call.texts("devices");
    if displayed(call, VolumeKind::Group, &name)?.is_true() {
        return members(call, &name, &devices);
    }
    let what = (VolumeKind::Group, name.as_str(), name.as_str());
    made(
        call,
        what,
        |_| String::new(),
        || {
            let devices: Vec<Value> = devices
                .iter()
                .map(|device| device.as_str().into())
                .collect();
            let both = [name.as_str().into(), devices.into()];
            call.salt("lvm.vgcreate", &both, call.own_kwargs())
        },
    )
}

/// The group that a device is part of; empty for none, nothing if the device
/// is no physical volume.
fn group_of(call: &Call<'_>, device: &str) -> Result<Option<String>, CallError> {
    let real = real_path(&call.host(), device);
    let options = Map::from([("real", true)]);
    let found = call.salt("lvm.pvdisplay", &[real.into()], options)?;
    let about = found
        .as_map()
        .and_then(|found| found.iter().next())
        .map(|(_, about)| about);
    let Some(group) = about.and_then(|about| about.get("Volume Group Name")) else {
        return Ok(None);
    };
    let group = python::str(group);
    Ok(Some(match group.as_str() {
        "#orphans_lvm2" => String::new(),
        _ => group,
    }))
}

/// The group is there: the devices are in it.
fn members(call: &Call<'_>, name: &str, devices: &[String]) -> CallResult {
    let mut state = StateReturn::of(call);
    let mut lines = vec![format!("Volume Group {name} already present")];
    let mut fails = false;
    for device in devices {
        let part_of_it = format!("{device} is part of Volume Group");
        match group_of(call, device)? {
            Some(group) if group == name => lines.push(part_of_it),
            Some(group) if !group.is_empty() => {
                lines.push(format!("{device} is part of {group}"));
                fails = true;
            }
            None => {
                lines.push(format!("pv {device} is not present"));
                fails = true;
            }
            Some(_) if call.is_test() => {
                lines.push(format!("{device} is set to be added to {name}"));
                state.result = None;
            }
            Some(_) => {
                let both = [name.into(), device.as_str().into()];
                call.salt("lvm.vgextend", &both, Map::new())?;
                if group_of(call, device)?.as_deref() == Some(name) {
                    state = state.change(device.as_str(), format!("added to {name}"));
                } else {
                    lines.push(format!("{device} could not be added"));
                    fails = true;
                }
            }
        }
    }
    if fails {
        state.result = Some(false);
    }
    state.comment = lines.join("\n").into();
    Ok(state.into())
}

fn lv_present(call: &Call<'_>) -> CallResult {
    let origin = call.text("name");
    let state = StateReturn::of(call);
    let wanted = match (call.text_opt("size"), call.arg("extents")) {
        (Some(_), extents) if extents.is_true() => {
            let comment = "Only one of extents or size can be specified.";
            return Ok(state.failed(comment).into());
        }
        (Some(size), _) => Some(Size::Megabytes(megabytes(&size)?)),
        (None, extents) if extents.is_true() => Some(Size::extents(extents)?),
        _ => None,
    };
    // With a snapshot that is what is made, of the volume that name says.
    let snapshot = call.text_opt("snapshot");
    let name = snapshot.as_ref().unwrap_or(&origin);
    let group = call.text("vgname");
    let in_group = match call.flag("thinvolume") {
        true => group.split('/').next().unwrap_or_default(),
        false => &group,
    };
    let path = format!("/dev/{in_group}/{name}");
    if let Some(about) = displayed(call, VolumeKind::Logical, &path)?.get(&path) {
        return sized(call, state, about, (name, &path), wanted);
    }
    let failure = |said: &Value| {
        let told = said.get("Output from lvcreate").unwrap_or(said);
        format!(". Error: {}", python::str(told))
    };
    made(call, (VolumeKind::Logical, name, &path), failure, || {
        let mut arguments = call.own_kwargs();
        for key in ["size", "extents", "pv", "thinvolume", "thinpool", "force"] {
            arguments.insert(key, call.arg(key).clone());
        }
        if snapshot.is_some() {
            arguments.insert("snapshot", origin.as_str());
        }
        let both = [name.as_str().into(), group.as_str().into()];
        call.salt("lvm.lvcreate", &both, arguments)
    })
}

/// The volume is there: it has the size that is wanted.
fn sized(
    call: &Call<'_>,
    state: StateReturn,
    about: &Value,
    (name, path): (&str, &str),
    wanted: Option<Size>,
) -> CallResult {
    let state = state.ok(format!("Logical Volume {name} already present"));
    let now = Size::of(about, wanted.as_ref())?;
    let change = match wanted {
        None => return Ok(state.into()),
        Some(Size::Share(share)) => {
            let comment =
                format!("Logical Volume {name} already present, {share} won't be resized.");
            return Ok(state.ok(comment).into());
        }
        Some(wanted) => wanted.compared_to(&now),
    };
    match change {
        std::cmp::Ordering::Equal => return Ok(state.into()),
        std::cmp::Ordering::Less if !call.flag("force") => {
            let comment = "To reduce a Logical Volume option 'force' must be True.";
            return Ok(state.failed(comment).into());
        }
        _ => {}
    }
    if call.is_test() {
        let comment = format!("Logical Volume {name} is set to be resized");
        return Ok(state.pending(comment).into());
    }
    let mut arguments = Map::from([("lvpath", Value::from(path))]);
    let what = if call.flag("size") { "size" } else { "extents" };
    for key in [what, "resizefs", "force"] {
        arguments.insert(key, call.arg(key).clone());
    }
    let said = call.salt("lvm.lvresize", &[], arguments)?;
    let after = displayed(call, VolumeKind::Logical, path)?;
    let size = |about: &Value| about.get("Logical Volume Size").map(python::str);
    if after.get(path).and_then(size) != size(about) {
        let state = state.ok(format!("Resized Logical Volume {name}"));
        return Ok(state.change("resized", said).into());
    }
    let told = said.get("Output from lvresize").unwrap_or(&said);
    Ok(state
        .failed(format!(
            "Failed to resize Logical Volume {name}.\nError: {}",
            python::str(told)
        ))
        .into())
}
