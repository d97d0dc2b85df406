//! What `mount` tells besides: swap space, automounts, where a path is, and
//! what states have mounted.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use halite_crypto::files;
use halite_modules::host::{Program, replace_file};
use halite_modules::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};
use halite_yaml::{DumpOptions, dump};

/// Bytes of the file of what states have mounted; a larger one counts as none.
const CACHE_BYTES_MAX: u64 = 4 << 20;

/// The mode of that file: options may hold passwords.
const CACHE_MODE: u32 = 0o600;

fn swaps_of(call: &Call<'_>) -> Map {
    let text = call.host().read("/proc/swaps");
    let lines = text.lines().filter(|line| !line.starts_with("Filename"));
    lines
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, kind, size, used, priority] = words.as_slice() else {
                return None;
            };
            let about = Map::from([
                ("type", *kind),
                ("size", size),
                ("used", used),
                ("priority", priority),
            ]);
            Some((*name, about))
        })
        .collect()
}

pub(crate) fn swaps(call: &Call<'_>) -> CallResult {
    Ok(swaps_of(call).into())
}

fn place(call: &Call<'_>) -> Result<String, CallError> {
    let name = call.text("name");
    if name.is_empty() || name.starts_with('-') {
        return Err(CallError::invocation(format!("not a device: {name:?}")));
    }
    Ok(name)
}

pub(crate) fn swapon(call: &Call<'_>) -> CallResult {
    let name = place(call)?;
    let told = |stats: Value, new: bool| -> CallResult {
        Ok(Map::from([("stats", stats), ("new", new.into())]).into())
    };
    if let Some(stats) = swaps_of(call).get(&name) {
        return told(stats.clone(), false);
    }
    let mut program = Program::new(call, &["swapon", &name]);
    if call.flag("priority") {
        program = program.arg("-p").arg(call.int("priority")?.to_string());
    }
    let ran = program.run()?;
    match swaps_of(call).get(&name) {
        Some(stats) => told(stats.clone(), true),
        None => {
            tracing::error!("swapon {name}: {}", ran.complaint());
            Ok(Map::new().into())
        }
    }
}

pub(crate) fn swapoff(call: &Call<'_>) -> CallResult {
    let name = place(call)?;
    if !swaps_of(call).contains_key(&name) {
        return Ok(Value::Nil);
    }
    Program::new(call, &["swapoff", &name]).run()?;
    Ok((!swaps_of(call).contains_key(&name)).into())
}

pub(crate) fn is_fuse_exec(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let Some(program) = host.which(&call.text("cmd")) else {
        return Ok(false.into());
    };
    if !host.has("ldd") {
        return Err(CallError::NotFound("ldd".to_owned()));
    }
    let ran = Program::new(call, &["ldd"]).arg(program.display().to_string());
    Ok(ran.run()?.stdout.contains("libfuse").into())
}

/// Whether something is mounted at a place.
fn is_mount(path: &Path) -> bool {
    let about = |path: &Path| {
        path.symlink_metadata()
            .map(|about| (about.dev(), about.ino()))
    };
    match (about(path), about(&path.join(".."))) {
        (Ok((own, inode)), Ok((other, above))) => own != other || inode == above,
        _ => false,
    }
}

fn mount_of(path: &str) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut path = path.canonicalize().unwrap_or(path);
    while path != Path::new("/") && !is_mount(&path) {
        if !path.pop() {
            break;
        }
    }
    path
}

pub(crate) fn get_mount_from_path(call: &Call<'_>) -> CallResult {
    Ok(mount_of(&call.text("path")).display().to_string().into())
}

pub(crate) fn get_device_from_path(call: &Call<'_>) -> CallResult {
    let mount = mount_of(&call.text("path")).display().to_string();
    let active = call.salt("mount.active", &[], Map::new())?;
    let device = active.get(&mount).and_then(|about| about.get("device"));
    Ok(device.cloned().unwrap_or_default())
}

/// One change at a time.
static CHANGING: Mutex<()> = Mutex::new(());

fn cache_file(call: &Call<'_>) -> PathBuf {
    call.ctx.cachedir().join("mounts")
}

fn cached(call: &Call<'_>) -> Map {
    let bytes = files::read_limited(&cache_file(call), CACHE_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let loaded = halite_yaml::load(&text, "mounts").map(halite_yaml::Node::into_value);
    match loaded {
        Ok(Value::Map(mut all)) => match all.remove("mounts") {
            Some(Value::Map(mounts)) => mounts,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

fn keep(call: &Call<'_>, mounts: Map) -> Result<(), CallError> {
    let text = dump(
        &Map::from([("mounts", mounts)]).into(),
        DumpOptions::block(),
    );
    files::create_private(&cache_file(call), CACHE_MODE, text.as_bytes()).map_err(|error| {
        tracing::error!(%error, "the mounts are not kept");
        CallError::command("Unable to write mount cache.")
    })
}

pub(crate) fn read_mount_cache(call: &Call<'_>) -> CallResult {
    let found = cached(call).get(&call.text("name")).cloned();
    Ok(found.unwrap_or_else(|| Map::new().into()))
}

pub(crate) fn write_mount_cache(call: &Call<'_>) -> CallResult {
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mounts = cached(call);
    let arg = |name: &str| call.arg(name).clone();
    mounts.insert(
        arg("real_name"),
        Map::from([
            ("device", arg("device")),
            ("fstype", arg("fstype")),
            ("mkmnt", arg("mkmnt")),
            ("opts", arg("mount_opts")),
        ]),
    );
    keep(call, mounts)?;
    Ok(true.into())
}

pub(crate) fn delete_mount_cache(call: &Call<'_>) -> CallResult {
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mounts = cached(call);
    if mounts.remove(&call.text("real_name")).is_some() {
        keep(call, mounts)?;
    }
    Ok(true.into())
}

/// An automount: place, options, what is mounted there.
fn automount(line: &str) -> Option<[&str; 3]> {
    if line.starts_with('#') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    words.try_into().ok()
}

/// The device of `nfs:server:/path` or `:/dev/x`: what is behind the first
/// colon.
fn device(text: &str) -> &str {
    text.split(':').nth(1).unwrap_or_default()
}

pub(crate) fn automaster(call: &Call<'_>) -> CallResult {
    let text = call.host().read(call.text("config"));
    let mut all = Map::new();
    for [name, options, what] in text.lines().filter_map(automount) {
        let mut options = options.split(',');
        let kind = options.next().unwrap_or_default();
        let options: Vec<Value> = options.map(Value::from).collect();
        let about = Map::from([
            ("device", Value::from(device(what))),
            ("fstype", kind.into()),
            ("opts", options.into()),
        ]);
        all.insert(name.replace("/..", ""), about);
    }
    Ok(all.into())
}

fn write(call: &Call<'_>, config: &str, text: &str) -> Result<(), CallError> {
    replace_file(&call.host().path(config), text.as_bytes())
        .map_err(|error| CallError::command(format!("Couldn't write to {config}: {error}")))
}

pub(crate) fn rm_automaster(call: &Call<'_>) -> CallResult {
    let (name, config) = (call.text("name"), call.text("config"));
    let wanted = call.text_opt("device");
    let text = call.host().read(&config);
    let is_it = |line: &str| {
        automount(line).is_some_and(|[place, _, what]| {
            place.replace("/..", "") == name
                && wanted
                    .as_deref()
                    .is_none_or(|wanted| device(what) == wanted)
        })
    };
    if !text.lines().any(is_it) {
        return Ok(true.into());
    }
    let kept = text.lines().filter(|line| !is_it(line));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    write(call, &config, &kept)?;
    Program::new(call, &["automount", "-cv"]).may_fail().run()?;
    Ok(true.into())
}

pub(crate) fn set_automaster(call: &Call<'_>) -> CallResult {
    let text = |name: &str| call.text(name);
    let (config, kind) = (text("config"), text("fstype"));
    let options = match call.arg("opts") {
        Value::List(options) => options
            .iter()
            .map(python::str)
            .collect::<Vec<_>>()
            .join(","),
        one => python::str(one),
    };
    let (place, what) = (format!("/..{}", text("name")), text("device"));
    let what = match kind.as_str() {
        "smbfs" => format!(":{what}"),
        kind => format!("{kind}:{what}"),
    };
    let options = format!("-fstype={kind},{options}");
    for word in [&place, &options, &what] {
        if word.contains(char::is_whitespace) {
            return Err(CallError::invocation(format!("a blank is in {word:?}")));
        }
    }
    let entry = format!("{place}\t{options}\t{what}");
    let is_test = call.flag("test") || call.is_test();
    let host = call.host();
    if !host.path(&config).is_file() && !is_test {
        write(call, &config, "")?;
        let master = "/etc/auto_master";
        let known = host.read(master);
        write(call, master, &format!("{known}/-\t\t\t{config}\n"))?;
    }
    let old = host.read(&config);
    let (mut is_there, mut is_changed) = (false, false);
    let mut lines: Vec<String> = Vec::new();
    for line in old.lines() {
        let is_it = automount(line).is_some_and(|[known, _, of]| known == place || of == what);
        if !is_it {
            lines.push(line.to_owned());
            continue;
        }
        is_there = true;
        let stays = call.flag("not_change") || automount(line) == automount(&entry);
        is_changed |= !stays;
        lines.push(if stays {
            line.to_owned()
        } else {
            entry.clone()
        });
    }
    let done = match (is_changed, is_there) {
        (true, _) => "change",
        (false, true) => return Ok("present".into()),
        (false, false) => {
            lines.push(entry);
            "new"
        }
    };
    if !is_test {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write(call, &config, &text)?;
    }
    Ok(done.into())
}
