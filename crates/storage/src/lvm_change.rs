//! Creates, changes and removes volumes.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::Value;

use super::lvm::{physical as displayed, shown};
use crate::devices::items;
use halite_call::host::{need, plain};

fn run(call: &Call<'_>, words: &[String]) -> Result<Ran, CallError> {
    if let Some(program) = words.first() {
        need(call, program)?;
    }
    Program::new(call, words).run()
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn force(call: &Call<'_>) -> String {
    let flag = if call.flag("force") { "--yes" } else { "-qq" };
    flag.to_owned()
}

/// The devices of the argument, none of which is an option.
fn devices(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let devices = items(call.arg("devices"));
    for device in &devices {
        plain(device)?;
    }
    Ok(devices)
}

/// What went wrong, or else the text.
fn text_or_error(ran: &Ran, text: String) -> Value {
    match ran.ok() {
        true => text.into(),
        false => ran.stderr.trim().into(),
    }
}

/// Keyword arguments that the program knows: those with a value, and flags.
fn options(call: &Call<'_>, valid: &[&str], flags: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in call.clean_kwargs() {
        let key = python::str(&key);
        if !value.is_true() {
            continue;
        }
        if flags.contains(&key.as_str()) {
            words.push(format!("--{key}"));
        } else if valid.contains(&key.as_str()) {
            words.extend([format!("--{key}"), python::str(&value)]);
        }
    }
    words
}

pub(super) fn pvcreate(call: &Call<'_>) -> CallResult {
    const VALID: [&str; 9] = [
        "metadatasize",
        "dataalignment",
        "dataalignmentoffset",
        "pvmetadatacopies",
        "metadatacopies",
        "metadataignore",
        "restorefile",
        "labelsector",
        "setphysicalvolumesize",
    ];
    let devices = devices(call)?;
    if devices.is_empty() {
        return Ok("Error: at least one device is required".into());
    }
    let mut command = vec!["pvcreate".to_owned(), force(call)];
    for device in &devices {
        if !call.host().path(device).exists() {
            return Ok(format!("{device} does not exist").into());
        }
        if displayed(call, device, false)?.is_empty() {
            command.push(device.clone());
        } else if !call.flag("override") {
            let text = format!("Device \"{device}\" is already an LVM physical volume.");
            return Ok(text.into());
        }
    }
    if command.len() == 2 {
        return Ok(true.into());
    }
    command.extend(options(call, &VALID, &["norestorefile"]));
    let ran = run(call, &command)?;
    if !ran.ok() {
        return Ok(ran.stderr.into());
    }
    for device in &devices {
        if displayed(call, device, false)?.is_empty() {
            return Ok(format!("Device \"{device}\" was not affected.").into());
        }
    }
    Ok(true.into())
}

/// Removes or resizes physical volumes.
pub(super) fn physical(call: &Call<'_>, program: &str, is_gone: bool) -> CallResult {
    let devices = devices(call)?;
    let mut command = vec![program.to_owned(), force(call)];
    for device in &devices {
        if !displayed(call, device, false)?.is_empty() {
            command.push(device.clone());
        } else if !call.flag("override") {
            return Ok(format!("{device} is not a physical volume").into());
        }
    }
    if command.len() == 2 {
        return Ok(true.into());
    }
    let ran = run(call, &command)?;
    if !ran.ok() {
        return Ok(ran.stderr.into());
    }
    for device in devices.iter().filter(|_| is_gone) {
        if !displayed(call, device, false)?.is_empty() {
            return Ok(format!("Device \"{device}\" was not affected.").into());
        }
    }
    Ok(true.into())
}

fn group(call: &Call<'_>) -> Result<String, CallError> {
    let name = call.text("vgname");
    plain(&name)?;
    Ok(name)
}

const BOTH: &str = "Error: vgname and device(s) are both required";

pub(super) fn vgcreate(call: &Call<'_>) -> CallResult {
    const VALID: [&str; 11] = [
        "addtag",
        "alloc",
        "autobackup",
        "clustered",
        "maxlogicalvolumes",
        "maxphysicalvolumes",
        "metadatatype",
        "vgmetadatacopies",
        "metadatacopies",
        "physicalextentsize",
        "zero",
    ];
    let devices = devices(call)?;
    if devices.is_empty() || !call.flag("vgname") {
        return Ok(BOTH.into());
    }
    let name = group(call)?;
    let mut command = words(&["vgcreate", &name]);
    command.extend(devices);
    command.push(force(call));
    command.extend(options(call, &VALID, &[]));
    let ran = run(call, &command)?;
    let mut found = shown(call, "vgdisplay", &name)?;
    let text = format!("Volume group \"{name}\" successfully created");
    found.insert("Output from vgcreate", text_or_error(&ran, text));
    Ok(found.into())
}

pub(super) fn vgextend(call: &Call<'_>) -> CallResult {
    let devices = devices(call)?;
    if devices.is_empty() || !call.flag("vgname") {
        return Ok(BOTH.into());
    }
    let name = group(call)?;
    let mut command = words(&["vgextend", &name]);
    command.push(force(call));
    command.extend(devices);
    let ran = run(call, &command)?;
    let text = format!("Volume group \"{name}\" successfully extended");
    Ok(halite_proto::Map::from([("Output from vgextend", text_or_error(&ran, text))]).into())
}

pub(super) fn vgremove(call: &Call<'_>) -> CallResult {
    let name = group(call)?;
    let mut command = words(&["vgremove", &name]);
    command.push(force(call));
    let ran = run(call, &command)?;
    Ok(text_or_error(
        &ran,
        format!("Volume group \"{name}\" successfully removed"),
    ))
}

pub(super) fn lvcreate(call: &Call<'_>) -> CallResult {
    const VALID: [&str; 17] = [
        "activate",
        "chunksize",
        "contiguous",
        "discards",
        "stripes",
        "stripesize",
        "minor",
        "persistent",
        "mirrors",
        "monitor",
        "permission",
        "poolmetadatasize",
        "readahead",
        "regionsize",
        "type",
        "virtualsize",
        "zero",
    ];
    const FLAGS: [&str; 4] = ["nosync", "noudevsync", "ignoremonitoring", "thin"];
    let (size, extents) = (call.text_opt("size"), call.text_opt("extents"));
    let (is_thin, is_pool) = (call.flag("thinvolume"), call.flag("thinpool"));
    if size.is_some() && extents.is_some() {
        return Ok("Error: Please specify only one of size or extents".into());
    }
    if is_thin && is_pool {
        return Ok("Error: Please set only one of thinvolume or thinpool to True".into());
    }
    let (name, group) = (call.text("lvname"), group(call)?);
    plain(&name)?;
    let mut command = match (is_thin, is_pool) {
        (true, _) => words(&["lvcreate", "--thin", "-n", &name]),
        (_, true) => words(&["lvcreate", "--thinpool", &name]),
        _ => words(&["lvcreate", "-n", &name]),
    };
    match call.text_opt("snapshot") {
        Some(of) => command.extend(["-s".to_owned(), format!("{group}/{of}")]),
        None => command.push(group.clone()),
    }
    match (size, extents) {
        (Some(size), _) => {
            let flag = if is_thin { "-V" } else { "-L" };
            command.extend([flag.to_owned(), size]);
        }
        (None, Some(_)) if is_thin => {
            return Ok("Error: Thin volume size cannot be specified as extents".into());
        }
        (None, Some(extents)) => command.extend(["-l".to_owned(), extents]),
        (None, None) => return Ok("Error: Either size or extents must be specified".into()),
    }
    if let Some(device) = call.text_opt("pv") {
        plain(&device)?;
        command.push(device);
    }
    command.extend(options(call, &VALID, &FLAGS));
    command.push(force(call));
    let ran = run(call, &command)?;
    let mut found = shown(call, "lvdisplay", &format!("/dev/{group}/{name}"))?;
    let text = format!("Logical volume \"{name}\" created.");
    found.insert("Output from lvcreate", text_or_error(&ran, text));
    Ok(found.into())
}

pub(super) fn lvremove(call: &Call<'_>) -> CallResult {
    let (name, group) = (call.text("lvname"), group(call)?);
    let mut command = words(&["lvremove", &format!("{group}/{name}")]);
    command.push(force(call));
    let ran = run(call, &command)?;
    let text = format!("Logical volume \"{name}\" successfully removed");
    Ok(text_or_error(&ran, text))
}

/// Gives a logical volume another size.
pub(super) fn resize(call: &Call<'_>, program: &str, forced: &str, done: &str) -> CallResult {
    let (size, extents) = (call.text_opt("size"), call.text_opt("extents"));
    let mut command = words(&[program]);
    command.push(if call.flag("force") { forced } else { "-qq" }.to_owned());
    if call.flag("resizefs") {
        command.push("--resizefs".to_owned());
    }
    match (size, extents) {
        (Some(_), Some(_)) => {
            tracing::error!("Error: Please specify only one of size or extents");
            return Ok(halite_proto::Map::new().into());
        }
        (Some(size), None) => command.extend(["-L".to_owned(), size]),
        (None, Some(extents)) => command.extend(["-l".to_owned(), extents]),
        (None, None) => {
            tracing::error!("Error: Either size or extents must be specified");
            return Ok(halite_proto::Map::new().into());
        }
    }
    let path = call.text("lvpath");
    plain(&path)?;
    command.push(path.clone());
    let ran = run(call, &command)?;
    let text = format!("Logical volume \"{path}\" successfully {done}.");
    let key = format!("Output from {program}");
    Ok([(key, text_or_error(&ran, text))]
        .into_iter()
        .collect::<halite_proto::Map>()
        .into())
}
