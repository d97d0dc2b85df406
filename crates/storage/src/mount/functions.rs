//! The table of the functions, and what they return.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, os_error, python};
use halite_proto::{Map, Value};

use super::current::{active, at, mount, options, remount, umount};
use super::fstab::{fields, rm_fstab, set_fstab, set_vfstab};
use super::{automaster, cache, path, swap};

pub(crate) const MODULE: Module = Module {
    name: "mount",
    functions: &[
        Function::new(
            "mount.active",
            "(extended=False)",
            active_,
            "What is mounted.",
        ),
        Function::new(
            "mount.automaster",
            "(config='/etc/auto_salt')",
            automaster::automaster,
            "The automounts.",
        ),
        Function::new(
            "mount.delete_mount_cache",
            "(real_name)",
            cache::delete_mount_cache,
            "Forgets what a state has mounted at a place.",
        ),
        Function::new(
            "mount.filesystems",
            "(config='/etc/filesystems')",
            |_| Ok(Map::new().into()),
            "The file systems of AIX, of which there are none here.",
        ),
        Function::new(
            "mount.fstab",
            "(config='/etc/fstab')",
            fstab_,
            "What the next start mounts.",
        ),
        Function::new(
            "mount.get_device_from_path",
            "(path)",
            path::get_device_from_path,
            "The device that a path is on.",
        ),
        Function::new(
            "mount.get_mount_from_path",
            "(path)",
            path::get_mount_from_path,
            "The place where what a path is on is mounted.",
        ),
        Function::new(
            "mount.is_fuse_exec",
            "(cmd)",
            path::is_fuse_exec,
            "Whether a program makes file systems of its own (FUSE).",
        ),
        Function::new(
            "mount.is_mounted",
            "(name)",
            is_mounted,
            "Whether a place is mounted.",
        ),
        Function::new(
            "mount.mount",
            "(name, device=False, mkmnt=False, fstype='', opts='defaults', user=None, util='mount')",
            mount_,
            "Mounts a device.",
        ),
        Function::new(
            "mount.read_mount_cache",
            "(name)",
            cache::read_mount_cache,
            "What a state has mounted at a place.",
        ),
        Function::new(
            "mount.remount",
            "(name, device, mkmnt=False, fstype='', opts='defaults', user=None)",
            remount_,
            "Mounts with other options.",
        ),
        Function::new(
            "mount.rm_automaster",
            "(name, device, config='/etc/auto_salt')",
            automaster::rm_automaster,
            "Removes an automount.",
        ),
        Function::new(
            "mount.rm_filesystems",
            "(name, device, config='/etc/filesystems')",
            |_| Ok(false.into()),
            "Removes a file system of AIX, of which there are none here.",
        ),
        Function::new(
            "mount.rm_fstab",
            "(name, device, config='/etc/fstab')",
            rm_fstab_,
            "Removes a place from what the next start mounts.",
        ),
        Function::new(
            "mount.rm_vfstab",
            "(name, device, config='/etc/vfstab')",
            rm_fstab_,
            "Removes a place from what the next start of Solaris mounts.",
        ),
        Function::new(
            "mount.set_automaster",
            "(name, device, fstype, opts='', config='/etc/auto_salt', test=False, not_change=False, **kwargs)",
            automaster::set_automaster,
            "Adds an automount, or changes it.",
        ),
        Function::new(
            "mount.set_filesystems",
            "(name, device, vfstype, opts='-', mount='true', config='/etc/filesystems', test=False, match_on='auto', not_change=False, **kwargs)",
            |_| Ok(Value::Nil),
            "Adds a file system of AIX, of which there are none here.",
        ),
        Function::new(
            "mount.set_fstab",
            "(name, device, fstype, opts='defaults', dump=0, pass_num=0, config='/etc/fstab', test=False, match_on='auto', not_change=False, **kwargs)",
            set_fstab_,
            "Sets what the next start mounts at a place.",
        ),
        Function::new(
            "mount.set_vfstab",
            "(name, device, fstype, opts='-', device_fsck='-', pass_fsck='-', mount_at_boot='yes', config='/etc/vfstab', test=False, match_on='auto', not_change=False, **kwargs)",
            set_vfstab,
            "Sets what the next start of Solaris mounts at a place.",
        ),
        Function::new(
            "mount.swapoff",
            "(name)",
            swap::swapoff,
            "Turns swap space off.",
        ),
        Function::new(
            "mount.swapon",
            "(name, priority=None)",
            swap::swapon,
            "Turns swap space on.",
        ),
        Function::new(
            "mount.swaps",
            "()",
            swap::swaps,
            "The swap space that is on.",
        ),
        Function::new(
            "mount.umount",
            "(name, device=None, user=None, util='mount', lazy=False)",
            umount_,
            "Unmounts a place.",
        ),
        Function::new(
            "mount.vfstab",
            "(config='/etc/vfstab')",
            fstab_,
            "What the next start of Solaris mounts.",
        ),
        Function::new(
            "mount.write_mount_cache",
            "(real_name, device, mkmnt, fstype, mount_opts)",
            cache::write_mount_cache,
            "Remembers what a state has mounted at a place.",
        ),
    ],
};

pub(super) fn list(items: &[String]) -> Value {
    Value::List(items.iter().map(|item| item.as_str().into()).collect())
}

/// What `mount -l` names as mounted at places.
fn named(call: &Call<'_>) -> Result<Map, CallError> {
    let said = Program::new(call, &["mount", "-l"])
        .may_fail()
        .run()?
        .stdout;
    let pairs = said.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((*words.get(2)?, *words.first()?))
    });
    Ok(pairs.collect())
}

fn active_(call: &Call<'_>) -> CallResult {
    let named = named(call)?;
    let other = |name: &str| named.get(name).cloned().unwrap_or_default();
    if call.flag("extended") {
        let ids = call.salt("disk.blkid", &[], Map::new()).unwrap_or_default();
        let text = call.host().read("/proc/self/mountinfo");
        let all = text.lines().filter_map(|line| extended(line, &ids, &other));
        return Ok(all.collect::<Map>().into());
    }
    let all = active(call).into_iter().map(|mount| {
        let about = Map::from([
            ("device", Value::from(mount.device)),
            ("alt_device", other(&mount.name)),
            ("fstype", mount.fstype.into()),
            ("opts", list(&mount.opts)),
        ]);
        (mount.name, about)
    });
    Ok(all.collect::<Map>().into())
}

/// A line of the kernel's table with all it tells.
fn extended(line: &str, ids: &Value, other: &dyn Fn(&str) -> Value) -> Option<(String, Map)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let end = words.iter().position(|word| *word == "-")?;
    let word = |at: usize| words.get(at).copied();
    let options = |text: &str| {
        let options = text
            .split(',')
            .map(|option| option.replace("\\040", "\\ ").into());
        Value::List(options.collect())
    };
    let (major, minor) = word(2)?.split_once(':')?;
    let (name, device) = (word(4)?, word(end + 2)?);
    let known = ids.get(device);
    let id = |key: &str| known.and_then(|about| about.get(key)).map(python::str);
    let about = Map::from([
        ("mountid", word(0)?.into()),
        ("parentid", word(1)?.into()),
        ("major", major.into()),
        ("minor", minor.into()),
        ("root", word(3)?.into()),
        ("opts", options(word(5)?)),
        ("fstype", word(end + 1)?.into()),
        ("device", device.replace("\\040", "\\ ").into()),
        ("alt_device", other(name)),
        ("superopts", options(word(end + 3)?)),
        ("device_uuid", id("UUID").map(|id| id.to_lowercase()).into()),
        ("device_label", id("LABEL").into()),
    ]);
    Some((name.to_owned(), about))
}

/// A table; empty if there is none.
pub(super) fn text_of(call: &Call<'_>, config: &str) -> Result<String, CallError> {
    match halite_call::paths::read(call.host().path(config)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(os_error(&error, config)),
    }
}

fn fstab_(call: &Call<'_>) -> CallResult {
    let text = text_of(call, &call.text("config"))?;
    let mut all = Map::new();
    for words in text.lines().filter_map(fields) {
        let field = |at: usize| words.get(at).copied().unwrap_or("0");
        let entry = Map::from([
            ("device", Value::from(words[0])),
            ("fstype", words[2].into()),
            (
                "opts",
                options(&words[3].into())
                    .into_iter()
                    .map(Value::from)
                    .collect::<Vec<_>>()
                    .into(),
            ),
            ("dump", field(4).into()),
            ("pass", field(5).into()),
        ]);
        let mut name = words[1].replace("\\040", " ");
        while all.contains_key(&name) {
            name.push('_');
        }
        all.insert(name, entry);
    }
    Ok(all.into())
}

fn is_mounted(call: &Call<'_>) -> CallResult {
    Ok(at(call, &call.text("name")).is_some().into())
}

fn true_or_text(done: Result<(), String>) -> Value {
    match done {
        Ok(()) => true.into(),
        Err(text) => text.into(),
    }
}

fn mount_(call: &Call<'_>) -> CallResult {
    let opts = options(call.arg("opts"));
    let device = call.text_opt("device").unwrap_or_default();
    let done = mount(
        call,
        &call.text("name"),
        &device,
        &call.text("fstype"),
        &opts,
        call.flag("mkmnt"),
    )?;
    Ok(true_or_text(done))
}

fn remount_(call: &Call<'_>) -> CallResult {
    let opts = options(call.arg("opts"));
    Ok(true_or_text(remount(
        call,
        &call.text("name"),
        &call.text("device"),
        &call.text("fstype"),
        &opts,
        call.flag("mkmnt"),
    )?))
}

fn umount_(call: &Call<'_>) -> CallResult {
    Ok(true_or_text(umount(
        call,
        &call.text("name"),
        call.flag("lazy"),
    )?))
}

fn rm_fstab_(call: &Call<'_>) -> CallResult {
    let (config, name) = (call.text("config"), call.text("name"));
    if !call.host().path(&config).exists() {
        return Err(CallError::command(format!(
            "Couldn't read from {config}: [Errno 2] No such file or directory: '{config}'"
        )));
    }
    rm_fstab(call, &config, &name, call.text_opt("device").as_deref())?;
    Ok(true.into())
}

fn set_fstab_(call: &Call<'_>) -> CallResult {
    let text = |name: &str| call.text(name);
    let opts = options(call.arg("opts")).join(",");
    let (device, name, fstype) = (text("device"), text("name"), text("fstype"));
    let (dump, pass) = (text("dump"), text("pass_num"));
    let entry = [device.as_str(), &name, &fstype, &opts, &dump, &pass];
    let config = text("config");
    match set_fstab(call, &config, entry, call.flag("test"))? {
        "bad config" => Err(CallError::command(format!("Bad config file \"{config}\""))),
        outcome => Ok(outcome.into()),
    }
}
