//! Block devices: their settings and their content.

use halite_proto::{Map, Value};

use halite_call::{
    Call, CallError, CallResult,
    host::{Program, Ran},
    python,
};

/// What `blockdev` is asked for.
const ASKED: [&str; 12] = [
    "getro",
    "getsz",
    "getss",
    "getpbsz",
    "getiomin",
    "getioopt",
    "getalignoff",
    "getmaxsect",
    "getsize",
    "getsize64",
    "getra",
    "getfra",
];

/// A device as a word that no program takes for an option.
pub(super) fn device(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    let device = call.text(name);
    if device.is_empty() || device.starts_with('-') {
        return Err(CallError::invocation(format!("not a device: {device:?}")));
    }
    Ok(device)
}

pub(super) fn need(call: &Call<'_>, program: &str) -> Result<(), CallError> {
    match call.host().has(program) {
        true => Ok(()),
        false => Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        ))),
    }
}

fn dumped(call: &Call<'_>, device: &str, wanted: &[String]) -> CallResult {
    let words = ASKED.iter().map(|asked| format!("--{asked}"));
    let words: Vec<String> = std::iter::once("blockdev".to_owned())
        .chain(words)
        .chain([device.to_owned()])
        .collect();
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        return Ok(false.into());
    }
    let lines = ran.stdout.lines().filter(|line| !line.is_empty());
    let all: Map = ASKED.into_iter().zip(lines).collect();
    if wanted.is_empty() {
        return Ok(all.into());
    }
    let mut chosen = Map::new();
    for name in wanted {
        let value = all
            .get(name)
            .ok_or_else(|| CallError::exception("KeyError", format!("'{name}'")))?;
        chosen.insert(name.as_str(), value.clone());
    }
    Ok(chosen.into())
}

pub(super) fn dump(call: &Call<'_>) -> CallResult {
    let wanted = match call.arg("args") {
        Value::Nil => Vec::new(),
        given => python::texts(given),
    };
    dumped(call, &device(call, "device")?, &wanted)
}

pub(super) fn tune(call: &Call<'_>) -> CallResult {
    const SWITCHES: [(&str, &str, &str); 4] = [
        ("read-ahead", "setra", "getra"),
        ("filesystem-read-ahead", "setfra", "getfra"),
        ("read-only", "setro", "getro"),
        ("read-write", "setrw", "getro"),
    ];
    let device = device(call, "device")?;
    let (mut words, mut shown) = (vec!["blockdev".to_owned()], Vec::new());
    let mut invalid = Vec::new();
    for (key, value) in call.clean_kwargs() {
        let key = python::str(&key);
        let known = SWITCHES.iter().find(|(name, ..)| *name == key);
        let is_flag = key.starts_with("read-") && key != "read-ahead";
        let on = value == Value::Bool(true) || value.as_str() == Some("True");
        match known {
            Some((_, set, get)) if !is_flag || on => {
                words.push(format!("--{set}"));
                if !is_flag {
                    words.push(python::int(&value)?.to_string());
                }
                shown.push((*get).to_owned());
            }
            _ => invalid.push(format!("{key}={}", python::str(&value))),
        }
    }
    if !invalid.is_empty() {
        let text = format!("Invalid keyword arguments: {}", invalid.join(", "));
        return Err(CallError::invocation(text));
    }
    words.push(device.clone());
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        return Err(CallError::command(ran.stderr));
    }
    dumped(call, &device, &shown)
}

fn complain(what: &str, device: &str, ran: &Ran) {
    tracing::error!("Error {what} device {device}: {}", ran.stderr);
}

pub(super) fn wipe(call: &Call<'_>) -> CallResult {
    let device = device(call, "device")?;
    let ran = Program::new(call, &["wipefs", "-a", &device]).run()?;
    if !ran.ok() {
        complain("wiping", &device, &ran);
    }
    Ok(ran.ok().into())
}

pub(super) fn resize2fs(call: &Call<'_>) -> CallResult {
    let device = device(call, "device")?;
    let ran = Program::new(call, &["resize2fs", &device]).run()?;
    if !ran.ok() {
        complain("resizing", &device, &ran);
        return Ok(Value::Nil);
    }
    Ok(true.into())
}

pub(super) fn format(call: &Call<'_>) -> CallResult {
    need(call, "mkfs")?;
    need(call, "sync")?;
    let (device, kind) = (device(call, "device")?, call.text("fs_type"));
    let is_ext = kind.starts_with("ext");
    let mut words = vec!["mkfs".to_owned(), "-t".to_owned(), kind.clone()];
    let mut add = |more: &[String]| words.extend_from_slice(more);
    if let Some(size) = call.text_opt("inode_size") {
        if is_ext {
            add(&["-i".to_owned(), size]);
        } else if kind == "xfs" {
            add(&["-i".to_owned(), format!("size={size}")]);
        }
    }
    if !call.arg("lazy_itable_init").is_nil() && is_ext {
        let lazy = call.text("lazy_itable_init");
        add(&["-E".to_owned(), format!("lazy_itable_init={lazy}")]);
    }
    if !call.arg("fat").is_nil() && kind.ends_with("fat") {
        let fat = call.int("fat")?;
        if [12, 16, 32].contains(&fat) {
            add(&["-F".to_owned(), fat.to_string()]);
        }
    }
    if call.flag("force") {
        if is_ext {
            add(&["-F".to_owned()]);
        } else if kind == "xfs" {
            add(&["-f".to_owned()]);
        }
    }
    words.push(device);
    let made = Program::new(call, &words).may_fail().run()?;
    let synced = Program::new(call, &["sync"]).may_fail().run()?;
    Ok((made.ok() && synced.ok()).into())
}

/// The kind of file system on a device, or the line of `df` about it.
fn kind_on(call: &Call<'_>, device: &str) -> CallResult {
    let host = call.host();
    for words in [["lsblk", "-o", "fstype"].as_slice(), &["df", "-T"]] {
        if !host.has(words.first().copied().unwrap_or_default()) {
            continue;
        }
        let ran = Program::new(call, words).arg(device).may_fail().run()?;
        let found = ran.stdout.lines().nth(1).map(str::trim).unwrap_or_default();
        if !found.is_empty() {
            return Ok(found.into());
        }
    }
    Ok("".into())
}

pub(super) fn fstype(call: &Call<'_>) -> CallResult {
    let device = device(call, "device")?;
    kind_on(call, &device)
}

pub(super) fn get_fstype_from_path(call: &Call<'_>) -> CallResult {
    let args = [call.arg("path").clone()];
    let device = call.salt("mount.get_device_from_path", &args, Map::new())?;
    kind_on(call, &python::str(&device))
}
