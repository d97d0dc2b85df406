//! Logical volumes: the execution module `lvm`.

use std::fs;

use halite_call::host::Program;
use halite_call::{Call, CallError, Function, Module};
use halite_proto::{Map, Value};

use super::lvm_change as change;
use halite_call::host::{need, plain, run};

const SIZES: &str = "(size=None, lvpath=None, extents=None, force=False, resizefs=False)";

pub(crate) const MODULE: Module = Module {
    name: "lvm",
    functions: &[
        Function::new(
            "lvm.fullversion",
            "()",
            |call| {
                let pairs = version_lines(call)?;
                Ok(pairs.into_iter().collect::<Map>().into())
            },
            "The versions of LVM, of its library and of the driver.",
        ),
        Function::new(
            "lvm.lvcreate",
            "(lvname, vgname, size=None, extents=None, snapshot=None, pv=None, thinvolume=False, thinpool=False, force=False, **kwargs)",
            change::lvcreate,
            "Makes a logical volume of a size or of so many extents.",
        ),
        Function::new(
            "lvm.lvdisplay",
            "(lvname='', quiet=False)",
            |call| Ok(shown(call, "lvdisplay", &call.text("lvname"))?.into()),
            "The logical volumes, or one.",
        ),
        Function::new(
            "lvm.lvextend",
            SIZES,
            |call| change::resize(call, "lvextend", "--yes", "extended"),
            "Makes a logical volume larger.",
        ),
        Function::new(
            "lvm.lvremove",
            "(lvname, vgname, force=True)",
            change::lvremove,
            "Removes a logical volume.",
        ),
        Function::new(
            "lvm.lvresize",
            SIZES,
            |call| change::resize(call, "lvresize", "--force", "resized"),
            "Gives a logical volume another size.",
        ),
        Function::new(
            "lvm.pvcreate",
            "(devices, override=True, force=True, **kwargs)",
            change::pvcreate,
            "Makes physical volumes of devices.",
        ),
        Function::new(
            "lvm.pvdisplay",
            "(pvname='', real=False, quiet=False)",
            |call| {
                let (name, real) = (call.text("pvname"), call.flag("real"));
                Ok(physical(call, &name, real)?.into())
            },
            "The physical volumes, or one.",
        ),
        Function::new(
            "lvm.pvremove",
            "(devices, override=True, force=True)",
            |call| change::physical(call, "pvremove", true),
            "Makes physical volumes plain devices again.",
        ),
        Function::new(
            "lvm.pvresize",
            "(devices, override=True, force=True)",
            |call| change::physical(call, "pvresize", false),
            "Grows physical volumes to the size of their devices.",
        ),
        Function::new(
            "lvm.version",
            "()",
            |call| {
                let first = version_lines(call)?.into_iter().next();
                let (_, version) =
                    first.ok_or_else(|| CallError::command("lvm tells no version"))?;
                Ok(version.into())
            },
            "The version of LVM.",
        ),
        Function::new(
            "lvm.vgcreate",
            "(vgname, devices, force=False, **kwargs)",
            change::vgcreate,
            "Makes a group of physical volumes.",
        ),
        Function::new(
            "lvm.vgdisplay",
            "(vgname='', quiet=False)",
            |call| Ok(shown(call, "vgdisplay", &call.text("vgname"))?.into()),
            "The groups of volumes, or one.",
        ),
        Function::new(
            "lvm.vgextend",
            "(vgname, devices, force=False)",
            change::vgextend,
            "Adds physical volumes to a group.",
        ),
        Function::new(
            "lvm.vgremove",
            "(vgname, force=True)",
            change::vgremove,
            "Removes a group of volumes.",
        ),
    ],
};

fn version_lines(call: &Call<'_>) -> Result<Vec<(String, String)>, CallError> {
    need(call, "lvm")?;
    let ran = run(call, &["lvm", "version"])?;
    let pairs = ran.stdout.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    Ok(pairs.collect())
}

const PHYSICAL: [&str; 11] = [
    "Physical Volume Device",
    "Volume Group Name",
    "Physical Volume Size (kB)",
    "Internal Physical Volume Number",
    "Physical Volume Status",
    "Physical Volume (not) Allocatable",
    "Current Logical Volumes Here",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Free Physical Extents",
    "Allocated Physical Extents",
];

const GROUP: [&str; 17] = [
    "Volume Group Name",
    "Volume Group Access",
    "Volume Group Status",
    "Internal Volume Group Number",
    "Maximum Logical Volumes",
    "Current Logical Volumes",
    "Open Logical Volumes",
    "Maximum Logical Volume Size",
    "Maximum Physical Volumes",
    "Current Physical Volumes",
    "Actual Physical Volumes",
    "Volume Group Size (kB)",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Allocated Physical Extents",
    "Free Physical Extents",
    "UUID",
];

const LOGICAL: [&str; 13] = [
    "Logical Volume Name",
    "Volume Group Name",
    "Logical Volume Access",
    "Logical Volume Status",
    "Internal Logical Volume Number",
    "Open Logical Volumes",
    "Logical Volume Size",
    "Current Logical Extents Associated",
    "Allocated Logical Extents",
    "Allocation Policy",
    "Read Ahead Sectors",
    "Major Device Number",
    "Minor Device Number",
];

/// The lines that a program shows with `-c`, in columns; none if it fails.
fn rows(call: &Call<'_>, program: &str, name: &str) -> Result<Vec<Vec<String>>, CallError> {
    need(call, program)?;
    let mut asked = Program::new(call, &[program, "-c"]);
    if !name.is_empty() {
        plain(name)?;
        asked = asked.arg(name);
    }
    let ran = match call.get("quiet").is_some_and(Value::is_true) {
        true => asked.may_fail().run()?,
        false => asked.run()?,
    };
    if !ran.ok() {
        return Ok(Vec::new());
    }
    let lines = ran.stdout.lines();
    Ok(lines
        .filter(|line| !line.contains("is a new physical volume") && !line.trim().is_empty())
        .map(|line| line.trim().split(':').map(str::to_owned).collect())
        .collect())
}

/// Groups or logical volumes by their names.
pub(super) fn shown(call: &Call<'_>, program: &str, name: &str) -> Result<Map, CallError> {
    let fields: &[&str] = match program {
        "vgdisplay" => &GROUP,
        _ => &LOGICAL,
    };
    let rows = rows(call, program, name)?.into_iter();
    Ok(rows
        .filter_map(|row| {
            let name = row.first()?.clone();
            Some((name, fields.iter().copied().zip(row).collect::<Map>()))
        })
        .collect())
}

/// Physical volumes by their devices; with `real` by what those lead to.
pub(super) fn physical(call: &Call<'_>, name: &str, real: bool) -> Result<Map, CallError> {
    let mut found = Map::new();
    for row in rows(call, "pvdisplay", name)? {
        let Some(device) = row.first().cloned() else {
            continue;
        };
        let mut about: Map = PHYSICAL.into_iter().zip(row).collect();
        let mut key = device.clone();
        if real {
            if let Ok(path) = fs::canonicalize(call.host().path(&device)) {
                key = path.display().to_string();
            }
            about.insert("Real Physical Volume Device", key.as_str());
        }
        found.insert(key, about);
    }
    Ok(found)
}
