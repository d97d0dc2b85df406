//! Arrays of disks: the execution module `raid`, over `mdadm`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, paths, python};
use halite_proto::{Map, Value};

use halite_call::host::{need, plain};

pub(crate) const MODULE: Module = Module {
    name: "raid",
    functions: &[
        Function::new(
            "raid.add",
            "(name, device)",
            add,
            "Adds a device to an array.",
        ),
        Function::new(
            "raid.assemble",
            "(name, devices, test_mode=False, **kwargs)",
            assemble,
            "Puts an array together of devices that are part of it; with test_mode\nthe command only. Further arguments are options of mdadm.",
        ),
        Function::new(
            "raid.create",
            "(name, level, devices, metadata='default', test_mode=False, **kwargs)",
            create,
            "Makes an array of devices; with test_mode the command only. Further\narguments are options of mdadm.",
        ),
        Function::new(
            "raid.destroy",
            "(device)",
            destroy,
            "Takes an array apart: its devices are plain ones again.",
        ),
        Function::new(
            "raid.detail",
            "(device='/dev/md0')",
            |call| Ok(detail(call, &call.text("device"))?.into()),
            "What an array is, and its members.",
        ),
        Function::new(
            "raid.examine",
            "(device, quiet=False)",
            examine,
            "What a device says of the array that it is part of.",
        ),
        Function::new(
            "raid.list",
            "()",
            |call| Ok(list(call)?.into()),
            "The arrays.",
        ),
        Function::new(
            "raid.save_config",
            "()",
            save_config,
            "Writes the arrays to the configuration, and has what the machine starts\nfrom made anew.",
        ),
        Function::new(
            "raid.stop",
            "()",
            |call| Ok(mdadm(call, &["--stop", "--scan"])?.run()?.ok().into()),
            "Stops all arrays.",
        ),
    ],
};

fn mdadm<'c, 'a>(call: &'c Call<'a>, words: &[&str]) -> Result<Program<'c, 'a>, CallError> {
    need(call, "mdadm")?;
    let all: Vec<&str> = ["mdadm"].into_iter().chain(words.iter().copied()).collect();
    Ok(Program::new(call, &all))
}

/// An array or a device, by an argument.
fn device(call: &Call<'_>, argument: &str) -> Result<String, CallError> {
    let name = call.text(argument);
    plain(&name)?;
    Ok(name)
}

/// The lines that a scan finds, each with the array's name.
fn scanned(call: &Call<'_>) -> Result<Vec<(String, String)>, CallError> {
    let said = mdadm(call, &["--detail", "--scan"])?.run()?.stdout;
    let lines = said.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.nth(1).filter(|_| line.starts_with("ARRAY"))?;
        Some((name.to_owned(), line.trim_end().to_owned()))
    });
    Ok(lines.collect())
}

fn list(call: &Call<'_>) -> Result<Map, CallError> {
    let arrays = scanned(call)?.into_iter().map(|(name, line)| {
        let mut about = Map::from([("device", name.as_str())]);
        let pairs = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        about.extend(
            pairs.map(|(key, value)| (Value::from(key.to_lowercase()), Value::from(value))),
        );
        (name, about)
    });
    Ok(arrays.collect())
}

fn detail(call: &Call<'_>, device: &str) -> Result<Map, CallError> {
    plain(device)?;
    if !call.host().path(device).exists() {
        let text = format!("Device {device} doesn't exist!");
        return Err(CallError::command(text));
    }
    let said = mdadm(call, &["--detail", device])?.run()?.stdout;
    Ok(parsed(&said))
}

/// The pairs and the table that `--detail` prints.
fn parsed(said: &str) -> Map {
    let (mut members, mut about) = (Map::new(), Map::new());
    for line in said.lines() {
        if let Some((key, value)) = line.split_once(" : ") {
            about.insert(key.trim().to_lowercase().replace(' ', "_"), value.trim());
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, major, minor, raid_device, state @ .., device] = words.as_slice() else {
            continue;
        };
        if device.starts_with('/') && !number.is_empty() && !state.is_empty() {
            let member = Map::from([
                ("device", *device),
                ("major", major),
                ("minor", minor),
                ("number", number),
                ("raiddevice", raid_device),
                ("state", &state.join(" ")),
            ]);
            members.insert(*raid_device, member);
        }
    }
    let mut all = Map::from([("members", members)]);
    all.extend(about);
    all
}

fn examine(call: &Call<'_>) -> CallResult {
    let device = device(call, "device")?;
    let asked = mdadm(call, &["-Y", "-E", &device])?;
    let asked = match call.flag("quiet") {
        true => asked.may_fail(),
        false => asked,
    };
    let said = asked.run()?.stdout;
    let pairs = said.lines().filter_map(|line| line.split_once('='));
    Ok(pairs.collect::<Map>().into())
}

fn add(call: &Call<'_>) -> CallResult {
    let (array, device) = (device(call, "name")?, device(call, "device")?);
    let ran = mdadm(call, &["--manage", &array, "--add", &device])?.run()?;
    match ran.ok() {
        true => Ok(true.into()),
        false => Err(CallError::command(ran.complaint())),
    }
}

/// Keyword arguments as options: those that are true without a value.
fn options(call: &Call<'_>) -> Vec<Value> {
    let mut words = Vec::new();
    for (key, value) in call.clean_kwargs() {
        words.push(format!("--{}", python::str(&key)).into());
        if value != Value::Bool(true) {
            words.push(match value {
                Value::Bool(_) => value,
                other => python::str(&other).into(),
            });
        }
    }
    words
}

fn devices(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let devices = super::devices::items(call.arg("devices"));
    for device in &devices {
        plain(device)?;
    }
    Ok(devices)
}

fn texts(words: &[Value]) -> Vec<String> {
    words.iter().map(python::str).collect()
}

fn spoken(call: &Call<'_>, words: &[Value]) -> CallResult {
    need(call, "mdadm")?;
    Ok(Program::new(call, &texts(words)).run()?.stdout.into())
}

fn create(call: &Call<'_>) -> CallResult {
    let (name, level) = (device(call, "name")?, call.text("level"));
    let host = call.host();
    let (there, gone): (Vec<String>, Vec<String>) = devices(call)?
        .into_iter()
        .partition(|device| host.path(device).exists());
    let count = there.len() + gone.len();
    let mut words: Vec<Value> = ["mdadm", "-C", &name, "-R", "-v", "-l", &level]
        .map(Value::from)
        .to_vec();
    words.extend(options(call));
    let metadata = call.text("metadata");
    words.extend(["-e", &metadata, "-n", &count.to_string()].map(Value::from));
    words.extend(there.into_iter().map(Value::from));
    words.extend(gone.iter().map(|_| Value::from("missing")));
    match call.flag("test_mode") {
        true => Ok(texts(&words).join(" ").into()),
        false => spoken(call, &words),
    }
}

fn assemble(call: &Call<'_>) -> CallResult {
    let name = device(call, "name")?;
    let mut words: Vec<Value> = ["mdadm", "-A", &name, "-v"].map(Value::from).to_vec();
    words.extend(options(call));
    words.extend(devices(call)?.into_iter().map(Value::from));
    match call.flag("test_mode") {
        true => Ok(words.into()),
        false => spoken(call, &words),
    }
}

/// The file that arrays are written in.
fn config(call: &Call<'_>) -> &'static str {
    match is_debian(call) {
        true => "/etc/mdadm/mdadm.conf",
        false => "/etc/mdadm.conf",
    }
}

fn is_debian(call: &Call<'_>) -> bool {
    call.ctx.grains().get("os_family").and_then(Value::as_str) == Some("Debian")
}

/// The text with `line` for what it has of an array; nothing if it has
/// nothing of it.
fn with_line(text: &str, array: &str, line: &str) -> Option<String> {
    let is_it = |known: &str| {
        let mut words = known.split_whitespace();
        words.next() == Some("ARRAY") && words.next() == Some(array)
    };
    let lines = text.lines();
    lines.clone().any(is_it).then(|| {
        lines
            .map(|known| if is_it(known) { line } else { known })
            .flat_map(|line| [line, "\n"])
            .collect()
    })
}

fn write(call: &Call<'_>, file: &str, text: &str) -> Result<(), CallError> {
    let path = call.host().path(file);
    if let Some(parent) = path.parent() {
        paths::create_dir_all(parent).map_err(|error| os_error(&error, file))?;
    }
    replace_file(&path, text.as_bytes()).map_err(|error| os_error(&error, file))
}

fn destroy(call: &Call<'_>) -> CallResult {
    let device = call.text("device");
    let Ok(about) = detail(call, &device) else {
        return Ok(false.into());
    };
    let members = about.get("members").and_then(Value::as_map);
    let members: Vec<String> = members
        .into_iter()
        .flat_map(|members| members.values())
        .filter_map(|member| member.get("device").map(python::str))
        .collect();
    mdadm(call, &["--stop", &device])?.run()?;
    if !members.is_empty() {
        let mut zero = mdadm(call, &["--zero-superblock"])?;
        for member in members {
            zero = zero.arg(member);
        }
        zero.run()?;
    }
    let file = config(call);
    if let Some(text) = with_line(&call.host().read_to_change(file)?, &device, "") {
        write(call, file, &text)?;
    }
    Ok((!list(call)?.contains_key(&device)).into())
}

fn save_config(call: &Call<'_>) -> CallResult {
    let file = config(call);
    let mut text = call.host().read_to_change(file)?;
    for (array, line) in scanned(call)? {
        text = match with_line(&text, &array, &line) {
            Some(text) => text,
            None if text.is_empty() || text.ends_with('\n') => format!("{text}{line}\n"),
            None => format!("{text}\n{line}\n"),
        };
    }
    write(call, file, &text)?;
    let anew: &[&str] = match is_debian(call) {
        true => &["update-initramfs", "-u"],
        false => &["dracut", "--force"],
    };
    match anew.first().is_some_and(|program| call.host().has(program)) {
        true => Ok(Program::new(call, anew).run()?.stdout.into()),
        false => Ok("".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_array_is_replaced() {
        let text = "DEVICE partitions\nARRAY /dev/md0 UUID=a\nARRAY /dev/md01 UUID=b";
        assert_eq!(
            with_line(text, "/dev/md0", "ARRAY /dev/md0 UUID=c").unwrap(),
            "DEVICE partitions\nARRAY /dev/md0 UUID=c\nARRAY /dev/md01 UUID=b\n"
        );
        assert_eq!(with_line(text, "/dev/md", ""), None);
    }

    #[test]
    fn members_are_found_by_their_place() {
        let said = "/dev/md0:\n  Raid Level : raid1\n\n  Number Major Minor RaidDevice State\n  0 8 16 0 active sync /dev/sdb\n  - 0 0 1 removed\n  2 8 48 - spare /dev/sdd\n";
        let about = parsed(said);
        assert_eq!(about.get("raid_level"), Some(&"raid1".into()));
        let members = about.get("members").unwrap().as_map().unwrap();
        assert_eq!(members.len(), 2);
        let spare = members.get("-").unwrap();
        assert_eq!(spare.get("state"), Some(&"spare".into()));
    }
}
