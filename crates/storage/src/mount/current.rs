//! The current mounts.

use halite_call::host::Program;
use halite_call::{Call, CallError, os_error, paths, python};
use halite_proto::Value;

/// Something that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Active {
    pub(crate) name: String,
    pub(crate) device: String,
    pub(crate) fstype: String,
    pub(crate) opts: Vec<String>,
}

/// What is mounted, from the kernel.
pub(crate) fn active(call: &Call<'_>) -> Vec<Active> {
    let text = call.host().read("/proc/self/mounts");
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [device, name, fstype, opts, ..] = words.as_slice() else {
                return None;
            };
            Some(Active {
                name: (*name).to_owned(),
                device: (*device).to_owned(),
                fstype: (*fstype).to_owned(),
                opts: opts.split(',').map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// The last that was mounted at a place.
pub(crate) fn at(call: &Call<'_>, name: &str) -> Option<Active> {
    let escaped = name.replace(' ', "\\040");
    active(call)
        .into_iter()
        .rev()
        .find(|mount| mount.name == escaped)
}

/// Mounts; the complaint when that fails.
pub(crate) fn mount(
    call: &Call<'_>,
    name: &str,
    device: &str,
    fstype: &str,
    opts: &[String],
    mkmnt: bool,
) -> Result<Result<(), String>, CallError> {
    let path = call.host().path(name);
    if mkmnt && !path.exists() {
        paths::create_dir_all(&path).map_err(|error| os_error(&error, name))?;
    }
    mount_at(call, name, device, fstype, opts)
}

/// Mounts, whether or not the place is there; the complaint when that fails.
pub(crate) fn mount_at(
    call: &Call<'_>,
    name: &str,
    device: &str,
    fstype: &str,
    opts: &[String],
) -> Result<Result<(), String>, CallError> {
    let path = call.host().path(name);
    let mut line = vec!["mount".to_owned()];
    if !opts.is_empty() {
        line.extend(["-o".to_owned(), opts.join(",")]);
    }
    if !fstype.is_empty() {
        line.extend(["-t".to_owned(), fstype.to_owned()]);
    }
    line.extend([device.to_owned(), path.display().to_string()]);
    let ran = Program::new(call, &line).run()?;
    Ok(if ran.ok() { Ok(()) } else { Err(ran.stderr) })
}

/// Mounts with other options, or for the first time.
pub(crate) fn remount(
    call: &Call<'_>,
    name: &str,
    device: &str,
    fstype: &str,
    opts: &[String],
    mkmnt: bool,
) -> Result<Result<(), String>, CallError> {
    let mut opts = opts.to_vec();
    if at(call, name).is_some() && !opts.iter().any(|opt| opt == "remount") {
        opts.push("remount".to_owned());
    }
    mount(call, name, device, fstype, &opts, mkmnt)
}

/// Unmounts; the complaint when that fails.
pub(crate) fn umount(
    call: &Call<'_>,
    name: &str,
    lazy: bool,
) -> Result<Result<(), String>, CallError> {
    if at(call, name).is_none() {
        return Ok(Err(format!("{name} does not have anything mounted")));
    }
    let place = call.host().path(name).display().to_string();
    let mut line = vec!["umount"];
    if lazy {
        line.push("-l");
    }
    line.push(&place);
    let ran = Program::new(call, &line).run()?;
    Ok(if ran.ok() { Ok(()) } else { Err(ran.stderr) })
}

/// Options of a list or of comma separated text.
pub(crate) fn options(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::texts(other),
    }
}
