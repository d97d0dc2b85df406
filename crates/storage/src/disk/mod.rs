//! `disk.*`: file systems, devices and drives.

mod devices;
mod drives;

use halite_proto::{Map, Value};

use halite_call::host::{run_quietly, which};
use halite_call::{Call, CallError, CallResult, Function, Module};

pub(super) const MODULE: Module = Module {
    name: "disk",
    functions: &[
        Function::new(
            "disk.blkid",
            "(device=None, token=None)",
            blkid,
            "Labels, ids and kinds of the file systems on block devices.",
        ),
        Function::new(
            "disk.dump",
            "(device, args=None)",
            devices::dump,
            "The settings of a block device, all or those that args names.",
        ),
        Function::new(
            "disk.format",
            "(device, fs_type='ext4', inode_size=None, lazy_itable_init=None, fat=None, force=False)",
            devices::format,
            "Makes a file system on a device.",
        ),
        Function::new(
            "disk.fstype",
            "(device)",
            devices::fstype,
            "The kind of file system on a device.",
        ),
        Function::new(
            "disk.get_fstype_from_path",
            "(path)",
            devices::get_fstype_from_path,
            "The kind of file system that a path is on.",
        ),
        Function::new(
            "disk.hdparms",
            "(disks, args='aAbBcCdgHiJkMmNnQrRuW')",
            drives::hdparms,
            "The settings of drives, as hdparm tells them.",
        ),
        Function::new(
            "disk.hpa",
            "(disks, size=None)",
            drives::hpa,
            "The protected areas of drives; with size they are set anew.",
        ),
        Function::new(
            "disk.inodeusage",
            "(args=None)",
            inodeusage,
            "The use of inodes by mounted file systems.",
        ),
        Function::new(
            "disk.iostat",
            "(interval=1, count=5, disks=None)",
            drives::iostat,
            "How busy drives are on the average of some measurements.",
        ),
        Function::new(
            "disk.percent",
            "(args=None)",
            percent,
            "How full file systems are, in percent: all, or the one mounted at a path.",
        ),
        Function::new(
            "disk.resize2fs",
            "(device)",
            devices::resize2fs,
            "Grows the file system on a device to the size of that.",
        ),
        Function::new(
            "disk.smart_attributes",
            "(dev, attributes=None, values=None)",
            drives::smart_attributes,
            "What a drive tells of its health: all attributes, or those with these numbers\nand values.",
        ),
        Function::new(
            "disk.tune",
            "(device, **kwargs)",
            devices::tune,
            "Changes read-ahead, filesystem-read-ahead, read-only or read-write of a\nblock device.",
        ),
        Function::new(
            "disk.usage",
            "(args=None)",
            usage,
            "The use of mounted file systems in units of 1024 bytes; args are flags of df.",
        ),
        Function::new(
            "disk.wipe",
            "(device)",
            devices::wipe,
            "Removes what tells of a file system from a device.",
        ),
    ],
};

/// The lines of `df`, split into six columns; the last may hold blanks.
fn df(call: &Call<'_>, name: &str, flags: &str) -> Result<Vec<[String; 6]>, CallError> {
    let mut flags = flags.to_owned();
    if let Some(more) = call.text_opt("args").filter(|_| name != "disk.percent") {
        if more.chars().any(|flag| !"aHhiklmPTx-".contains(flag)) {
            return Err(CallError::command(format!("Invalid flag passed to {name}")));
        }
        flags.extend(
            more.chars()
                .filter(|flag| *flag != '-' && *flag != 'T' && *flag != 'x'),
        );
    }
    let Some(ran) = run_quietly(call, &["df", &flags])? else {
        return Err(CallError::NotFound(
            "The 'df' binary was not found in $PATH.".to_owned(),
        ));
    };
    let rows = ran.stdout.lines().skip(1).filter_map(|line| {
        let mut words = Vec::new();
        let mut rest = line;
        for _ in 0..5 {
            let (word, after) = rest.trim_start().split_once(char::is_whitespace)?;
            words.push(word.to_owned());
            rest = after;
        }
        words.push(rest.trim().to_owned());
        words.try_into().ok()
    });
    Ok(rows.collect())
}

fn usage(call: &Call<'_>) -> CallResult {
    let mut usage = Map::new();
    for [filesystem, blocks, used, available, capacity, mount] in df(call, "disk.usage", "-P")? {
        let entry = Map::from([
            ("filesystem", filesystem),
            ("1K-blocks", blocks),
            ("used", used),
            ("available", available),
            ("capacity", capacity),
        ]);
        usage.insert(mount, entry);
    }
    Ok(usage.into())
}

fn inodeusage(call: &Call<'_>) -> CallResult {
    let mut usage = Map::new();
    for [filesystem, inodes, used, free, share, mount] in df(call, "disk.inodeusage", "-iP")? {
        let entry = Map::from([
            ("inodes", inodes),
            ("used", used),
            ("free", free),
            ("use", share),
            ("filesystem", filesystem),
        ]);
        usage.insert(mount, entry);
    }
    Ok(usage.into())
}

fn percent(call: &Call<'_>) -> CallResult {
    let mut percents = Map::new();
    for [_, _, _, _, capacity, mount] in df(call, "disk.percent", "-P")? {
        percents.insert(mount, capacity);
    }
    match call.text_opt("args") {
        Some(mount) => Ok(percents
            .get(&mount)
            .cloned()
            .unwrap_or_else(|| Map::new().into())),
        None => Ok(percents.into()),
    }
}

fn blkid(call: &Call<'_>) -> CallResult {
    let mut words = vec!["blkid".to_owned()];
    if let Some(token) = call.text_opt("token") {
        words.extend(["-t".to_owned(), token]);
    }
    words.extend(call.text_opt("device"));
    if which("blkid").is_none() {
        return Err(CallError::NotFound(
            "The 'blkid' binary was not found in $PATH.".to_owned(),
        ));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = run_quietly(call, &words)?
        .map(|ran| ran.stdout)
        .unwrap_or_default();
    let mut devices = Map::new();
    for line in output.lines() {
        let Some((device, rest)) = line.split_once(": ") else {
            continue;
        };
        let info: Map = halite_call::shlex::split(rest)?
            .into_iter()
            .filter_map(|word| {
                let (key, value) = word.split_once('=')?;
                Some((key.to_owned(), Value::from(value)))
            })
            .collect();
        devices.insert(device, info);
    }
    Ok(devices.into())
}
