//! File systems of the kind XFS: the execution module `xfs`.

mod dumps;

use halite_call::host::Ran;
use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};

use halite_call::host::{need, plain, run};

pub(crate) const MODULE: Module = Module {
    name: "xfs",
    functions: &[
        Function::new(
            "xfs.defragment",
            "(device)",
            defragment,
            "Brings the files of a mounted file system together.",
        ),
        Function::new(
            "xfs.devices",
            "()",
            |call| devices(call, None),
            "The file systems of this kind.",
        ),
        Function::new(
            "xfs.dump",
            "(device, destination, level=0, label=None, noerase=None)",
            dumps::dump,
            "Backs a file system up.",
        ),
        Function::new(
            "xfs.estimate",
            "(path)",
            estimate,
            "The space that a directory would take on such a file system.",
        ),
        Function::new("xfs.info", "(device)", info, "The shape of a file system."),
        Function::new(
            "xfs.inventory",
            "()",
            dumps::inventory,
            "The backups that were made.",
        ),
        Function::new(
            "xfs.mkfs",
            "(device, label=None, ssize=None, noforce=None, bso=None, gmo=None, ino=None, lso=None, rso=None, nmo=None, dso=None)",
            mkfs,
            "Makes a file system. The arguments that end with o are options like\nname=value,name=value.",
        ),
        Function::new(
            "xfs.modify",
            "(device, label=None, lazy_counting=None, uuid=None)",
            modify,
            "Changes label, counters or id of a file system.",
        ),
        Function::new(
            "xfs.prune_dump",
            "(sessionid)",
            dumps::prune_dump,
            "Forgets a backup.",
        ),
    ],
};

fn checked(ran: Ran) -> Result<Ran, CallError> {
    match !ran.ok() && !ran.stderr.is_empty() {
        true => Err(CallError::command(ran.stderr)),
        false => Ok(ran),
    }
}

fn device(call: &Call<'_>) -> Result<String, CallError> {
    let device = call.text("device");
    plain(&device)?;
    Ok(device)
}

/// The pairs of a line: `isize=512 agcount=4, ...`; a word without `=` goes
/// with what is before it.
fn pairs(line: &str) -> Vec<(String, String)> {
    let line = line.strip_prefix('=').map_or(line, str::trim);
    let line = line.replace(" = ", "=*** ").replace(" =", "=");
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match words.last_mut() {
            Some(last) if !word.contains('=') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// What `xfs_info` and `mkfs.xfs` print, by sections.
fn shape(text: &str) -> Map {
    let mut shape = Map::new();
    let mut section = String::new();
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.replace(", ", " ").replace(',', "");
        if !line.contains('=') {
            continue;
        }
        let mut found = pairs(&line).into_iter();
        if !line.starts_with('=')
            && let Some((name, value)) = found.next()
        {
            let label = if value == "***" { name.clone() } else { value };
            shape.insert(name.as_str(), Map::from([("section", label)]));
            section = name;
        }
        if let Some(Value::Map(entry)) = shape.get_mut(&section) {
            entry.extend(found.collect::<Map>());
        }
    }
    shape
}

fn info(call: &Call<'_>) -> CallResult {
    need(call, "xfs_info")?;
    let ran = run(call, &["xfs_info", &device(call)?])?;
    if !ran.stderr.is_empty() {
        let text = ran.stderr.replace("xfs_info:", "");
        return Err(CallError::command(text.trim()));
    }
    Ok(shape(&ran.stdout).into())
}

/// What is mounted of this kind.
fn mounts(call: &Call<'_>) -> Map {
    let text = call.host().read("/proc/mounts");
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [device, place, "xfs", options, ..] = words.as_slice() else {
                return None;
            };
            let options: Vec<Value> = options.split(',').map(Value::from).collect();
            let about = Map::from([
                ("mount_point", Value::from(*place)),
                ("options", options.into()),
            ]);
            Some((*device, about))
        })
        .collect()
}

/// What `blkid` knows of file systems of this kind.
fn devices(call: &Call<'_>, only: Option<&str>) -> CallResult {
    need(call, "blkid")?;
    let words: Vec<&str> = ["blkid", "-o", "export"].into_iter().chain(only).collect();
    let ran = checked(run(call, &words)?)?;
    let mounts = mounts(call);
    let mut all = Map::new();
    for record in ran.stdout.split("\n\n") {
        let pairs = record.lines().filter_map(|line| line.split_once('='));
        let mut about: Map = pairs
            .map(|(key, value)| (key.to_lowercase(), Value::from(value)))
            .collect();
        if about.remove("type") != Some("xfs".into()) {
            continue;
        }
        let label = about.get("label").cloned().unwrap_or_default();
        about.insert("label", label);
        let Some(Value::Str(name)) = about.remove("devname") else {
            continue;
        };
        if let Some(Value::Map(mount)) = mounts.get(&name) {
            about.extend(mount.clone());
        }
        all.insert(name, about);
    }
    Ok(all.into())
}

fn estimate(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    plain(&path)?;
    if !call.host().path(&path).exists() {
        return Err(CallError::command(format!(
            "Path \"{path}\" was not found."
        )));
    }
    need(call, "xfs_estimate")?;
    let ran = checked(run(call, &["xfs_estimate", "-v", &path])?)?;
    let lines = ran
        .stdout
        .lines()
        .filter(|line| !line.trim().is_empty())
        .skip(1);
    let rows = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [directory, size, blocks, megabytes, log] = words.as_slice() else {
            return None;
        };
        let about = Map::from([
            ("block _size", *size),
            ("blocks", blocks),
            ("megabytes", megabytes),
            ("logsize", log),
        ]);
        Some((*directory, about))
    });
    Ok(rows.collect::<Map>().into())
}

fn mkfs(call: &Call<'_>) -> CallResult {
    need(call, "mkfs.xfs")?;
    let device = device(call)?;
    let mut words = vec!["mkfs.xfs".to_owned()];
    if let Some(label) = call.text_opt("label") {
        words.extend(["-L".to_owned(), label]);
    }
    if let Some(size) = call.text_opt("ssize") {
        words.extend(["-s".to_owned(), size]);
    }
    for (switch, name) in [
        ("-b", "bso"),
        ("-m", "gmo"),
        ("-n", "nmo"),
        ("-i", "ino"),
        ("-d", "dso"),
        ("-l", "lso"),
        ("-r", "rso"),
    ] {
        let Some(options) = call.text_opt(name).filter(|options| options.contains('=')) else {
            continue;
        };
        if options
            .split(',')
            .any(|option| option.matches('=').count() != 1)
        {
            let text = format!("Wrong parameters \"{options}\" for option \"{switch}\"");
            return Err(CallError::command(text));
        }
        words.extend([switch.to_owned(), options]);
    }
    if !call.flag("noforce") {
        words.push("-f".to_owned());
    }
    words.push(device);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(shape(&checked(run(call, &words)?)?.stdout).into())
}

fn modify(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let (counting, uuid) = (call.arg("lazy_counting"), call.arg("uuid"));
    let label = call.text_opt("label");
    if label.is_none() && counting.is_nil() && uuid.is_nil() {
        return Err(CallError::command(format!(
            "Nothing specified for modification for \"{device}\" device"
        )));
    }
    need(call, "xfs_admin")?;
    let mut words = vec!["xfs_admin"];
    if let Some(label) = &label {
        words.extend(["-L", label]);
    }
    match counting {
        Value::Bool(false) => words.extend(["-c", "0"]),
        other if other.is_true() => words.extend(["-c", "1"]),
        _ => {}
    }
    match uuid {
        Value::Bool(false) => words.extend(["-U", "nil"]),
        other if other.is_true() => words.extend(["-U", "generate"]),
        _ => {}
    }
    words.push(&device);
    checked(run(call, &words)?)?;
    devices(call, Some(&device))
}

fn defragment(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    if device == "/" {
        return Err(CallError::command("Root is not a device."));
    }
    if !mounts(call).contains_key(&device) {
        return Err(CallError::command(format!(
            "Device \"{device}\" is not mounted"
        )));
    }
    need(call, "xfs_fsr")?;
    let ran = checked(run(call, &["xfs_fsr", &device])?)?;
    Ok(Map::from([("log", ran.stdout)]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_read() {
        let text = "meta-data=/dev/vda1              isize=512    agcount=4, agsize=65536 blks\n\
                    \x20        =                       sectsz=512   attr=2\n\
                    naming   =version 2              bsize=4096   ascii-ci=0\n\
                    realtime =none                   extsz=4096   blocks=0\n";
        let shape = shape(text);
        let of = |section: &str, key: &str| {
            let value = shape.get(section).unwrap().get(key).unwrap();
            value.as_str().unwrap().to_owned()
        };
        assert_eq!(of("meta-data", "section"), "/dev/vda1");
        assert_eq!(of("meta-data", "agsize"), "65536 blks");
        assert_eq!(of("meta-data", "sectsz"), "512");
        assert_eq!(of("naming", "section"), "version 2");
        assert_eq!(of("realtime", "section"), "none");
    }
}
