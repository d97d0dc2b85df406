//! The table of the functions, and the programs that they run.

use halite_call::{Call, CallError, CallResult, Function, Module};
use halite_proto::{Map, Value};

use crate::devices::{is_block, lines};
use halite_call::host::{need, plain, run};

use super::arguments::{
    DISK_FLAGS, LABELS, PARTITION_FLAGS, UNITS, boundary, device, invalid, is_file_system, number,
    valid,
};

pub(crate) const MODULE: Module = Module {
    name: "partition",
    functions: &[
        Function::new(
            "partition.align_check",
            "(device, part_type, partition)",
            align_check,
            "Whether a partition is aligned, minimally or optimally.",
        ),
        Function::new(
            "partition.check",
            "(device, minor)",
            |call| by_minor(call, "check", "minor", "check", &[]),
            "Checks the file system of a partition.",
        ),
        Function::new(
            "partition.cp",
            "(device, from_minor, to_minor)",
            cp,
            "Copies the file system of a partition to another one.",
        ),
        Function::new(
            "partition.disk_set",
            "(device, flag, state)",
            |call| disk_flag(call, "disk_set", true),
            "Turns a flag of a disk on or off.",
        ),
        Function::new(
            "partition.disk_toggle",
            "(device, flag)",
            |call| disk_flag(call, "disk_toggle", false),
            "Turns a flag of a disk over.",
        ),
        Function::new(
            "partition.exists",
            "(device='')",
            |call| Ok(is_block(call, &call.text("device")).into()),
            "Whether there is such a partition.",
        ),
        Function::new(
            "partition.get_block_device",
            "()",
            |call| {
                Ok(lines(&run(
                    call,
                    &["lsblk", "-n", "-io", "KNAME", "-d", "-e", "1,7,11", "-l"],
                )?))
            },
            "The disks of this machine.",
        ),
        Function::new(
            "partition.get_id",
            "(device, minor)",
            |call| {
                let device = device(call)?;
                let minor = number(call, "minor", "minor number passed to partition.get_id")?;
                Ok(lines(&run(
                    call,
                    &["sfdisk", "--print-id", &device, &minor],
                )?))
            },
            "The kind of a partition, as the table has it.",
        ),
        Function::new(
            "partition.list",
            "(device, unit=None)",
            list,
            "The partitions of a disk.",
        ),
        Function::new(
            "partition.mkfs",
            "(device, fs_type)",
            mkfs,
            "Makes a file system on a partition.",
        ),
        Function::new(
            "partition.mklabel",
            "(device, label_type)",
            mklabel,
            "Gives a disk a new table of partitions.",
        ),
        Function::new(
            "partition.mkpart",
            "(device, part_type, fs_type=None, start=None, end=None)",
            mkpart,
            "Makes a partition from one place to another.",
        ),
        Function::new(
            "partition.mkpartfs",
            "(device, part_type, fs_type=None, start=None, end=None)",
            mkpart,
            "The same as partition.mkpart.",
        ),
        Function::new(
            "partition.name",
            "(device, partition, name)",
            name,
            "Names a partition.",
        ),
        Function::new(
            "partition.probe",
            "(*devices)",
            probe,
            "Has the kernel read the tables of disks again.",
        ),
        Function::new(
            "partition.rescue",
            "(device, start, end)",
            |call| {
                let device = device(call)?;
                let (start, end) = (boundary(call, "start")?, boundary(call, "end")?);
                parted(call, &["-m", "-s", &device, "rescue", &start, &end])
            },
            "Looks for a lost partition between two places.",
        ),
        Function::new(
            "partition.resize",
            "(device, minor, start, end)",
            |call| {
                let device = device(call)?;
                let minor = number(call, "minor", "minor number passed to partition.resize")?;
                let (start, end) = (boundary(call, "start")?, boundary(call, "end")?);
                parted(
                    call,
                    &["-m", "-s", "--", &device, "resize", &minor, &start, &end],
                )
            },
            "Gives a partition another place.",
        ),
        Function::new(
            "partition.rm",
            "(device, minor)",
            |call| by_minor(call, "rm", "minor", "rm", &[]),
            "Removes a partition.",
        ),
        Function::new(
            "partition.set",
            "(device, minor, flag, state)",
            |call| {
                let (flag, state) = (call.text("flag"), call.text("state"));
                valid(&PARTITION_FLAGS, &flag, "flag passed to partition.set")?;
                valid(&["on", "off"], &state, "state passed to partition.set")?;
                by_minor(call, "set", "minor", "set", &[&flag, &state])
            },
            "Turns a flag of a partition on or off.",
        ),
        Function::new(
            "partition.set_id",
            "(device, minor, system_id)",
            set_id,
            "Gives a partition another kind in the table.",
        ),
        Function::new(
            "partition.system_types",
            "()",
            |call| Ok(kinds(call)?.into()),
            "The kinds that partitions may have in the table.",
        ),
        Function::new(
            "partition.toggle",
            "(device, partition, flag)",
            |call| {
                let device = device(call)?;
                let partition = number(
                    call,
                    "partition",
                    "partition number passed to partition.toggle",
                )?;
                let flag = call.text("flag");
                valid(&PARTITION_FLAGS, &flag, "flag passed to partition.toggle")?;
                parted(call, &["-m", "-s", &device, "toggle", &partition, &flag])
            },
            "Turns a flag of a partition over.",
        ),
    ],
};

fn parted(call: &Call<'_>, words: &[&str]) -> CallResult {
    need(call, "parted")?;
    let words: Vec<&str> = std::iter::once("parted")
        .chain(words.iter().copied())
        .collect();
    Ok(lines(&run(call, &words)?))
}

fn by_minor(call: &Call<'_>, fun: &str, name: &str, verb: &str, more: &[&str]) -> CallResult {
    let device = device(call)?;
    let minor = number(
        call,
        name,
        &format!("minor number passed to partition.{fun}"),
    )?;
    let mut words = vec!["-m", "-s", &device, verb, &minor];
    words.extend(more);
    parted(call, &words)
}

fn probe(call: &Call<'_>) -> CallResult {
    let mut words = vec!["partprobe".to_owned(), "--".to_owned()];
    for device in call.varargs() {
        let device = halite_call::python::str(device);
        if !is_block(call, &device) {
            return Err(invalid("device passed to partition module."));
        }
        words.push(device);
    }
    need(call, "partprobe")?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(lines(&run(call, &words)?))
}

fn list(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    need(call, "parted")?;
    let unit = call.text_opt("unit");
    let mut words = vec!["parted", "-m", "-s", &device];
    if let Some(unit) = &unit {
        valid(&UNITS, unit, "unit passed to partition.part_list")?;
        words.extend(["unit", unit]);
    }
    words.push("print");
    let ran = run(call, &words)?;
    let problem = || CallError::command("Problem encountered while parsing output from parted");
    let (mut info, mut partitions) = (Map::new(), Map::new());
    let headers = ["BYT;", "CHS;", "CYL;"];
    for line in ran.stdout.lines().filter(|line| !headers.contains(line)) {
        let mut columns: Vec<&str> = line.trim_end_matches(';').split(':').collect();
        if info.is_empty() {
            let fields = [
                "disk",
                "size",
                "interface",
                "logical sector",
                "physical sector",
                "partition table",
                "model",
                "disk flags",
            ];
            if !(7..=8).contains(&columns.len()) {
                return Err(problem());
            }
            info = fields.into_iter().zip(columns).collect();
            continue;
        }
        let mut fields = vec!["number", "start", "end"];
        if unit.as_deref() != Some("chs") {
            fields.push("size");
        }
        match columns.last() {
            Some(&"free") => {
                columns.pop();
            }
            _ => fields.extend(["file system", "name", "flags"]),
        }
        if fields.len() != columns.len() {
            return Err(problem());
        }
        let number = columns.first().copied().unwrap_or_default();
        partitions.insert(number, fields.into_iter().zip(columns).collect::<Map>());
    }
    Ok(Map::from([("info", info), ("partitions", partitions)]).into())
}

fn align_check(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let kind = call.text("part_type");
    let what = "part_type passed to partition.align_check";
    valid(&["minimal", "optimal"], &kind, what)?;
    let partition = number(
        call,
        "partition",
        "partition passed to partition.align_check",
    )?;
    parted(call, &["-m", &device, "align-check", &kind, &partition])
}

fn cp(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let what = "minor number passed to partition.cp";
    let (from, to) = (
        number(call, "from_minor", what)?,
        number(call, "to_minor", what)?,
    );
    parted(call, &["-m", "-s", &device, "cp", &from, &to])
}

fn kinds(call: &Call<'_>) -> Result<Map, CallError> {
    need(call, "sfdisk")?;
    let ran = run(call, &["sfdisk", "-T"])?;
    let lines = ran.stdout.lines().filter(|line| !line.starts_with("Id"));
    Ok(lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect())
}

fn set_id(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let minor = number(call, "minor", "minor number passed to partition.set_id")?;
    let id = call.text("system_id");
    if !kinds(call)?.contains_key(&id) {
        return Err(invalid("system_id passed to partition.set_id"));
    }
    Ok(lines(&run(
        call,
        &["sfdisk", "--change-id", &device, &minor, &id],
    )?))
}

fn mkfs(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let kind = call.text("fs_type");
    if !is_file_system(&kind) {
        return Err(invalid("fs_type passed to partition.mkfs"));
    }
    let program = match kind.as_str() {
        "NTFS" => "mkfs.ntfs".to_owned(),
        "linux-swap" => "mkswap".to_owned(),
        kind => format!("mkfs.{kind}"),
    };
    if !call.host().has(&program) {
        return Ok(format!("Error: {program} is unavailable.").into());
    }
    Ok(lines(&run(call, &[&program, &device])?))
}

fn mklabel(call: &Call<'_>) -> CallResult {
    let label = call.text("label_type");
    valid(&LABELS, &label, "label_type passed to partition.mklabel")?;
    let device = call.text("device");
    plain(&device)?;
    parted(call, &["-m", "-s", &device, "mklabel", &label])
}

fn mkpart(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let kind = call.text("part_type");
    let what = "part_type passed to partition.mkpart";
    valid(&["primary", "logical", "extended"], &kind, what)?;
    let system = call.text_opt("fs_type");
    if system
        .as_deref()
        .is_some_and(|system| !is_file_system(system))
    {
        return Err(invalid("fs_type passed to partition.mkpart"));
    }
    let place = |name: &str| match call.arg(name) {
        Value::Nil => Ok(String::new()),
        _ => boundary(call, name),
    };
    let (start, end) = (place("start")?, place("end")?);
    let mut words = vec!["-m", "-s", "--", &device, "mkpart", &kind];
    words.extend(system.as_deref());
    words.extend([start.as_str(), &end]);
    parted(call, &words)
}

pub(super) fn name(call: &Call<'_>) -> CallResult {
    let device = device(call)?;
    let partition = number(call, "partition", "partition passed to partition.name")?;
    let name = call.text("name");
    let good = |c: char| c.is_ascii_alphanumeric() || " _-".contains(c);
    if !name.chars().all(good) {
        return Err(invalid("characters passed to partition.name"));
    }
    let quoted = format!("'{name}'");
    parted(call, &["-m", "-s", &device, "name", &partition, &quoted])
}

fn disk_flag(call: &Call<'_>, verb: &str, with_state: bool) -> CallResult {
    let device = device(call)?;
    let flag = call.text("flag");
    valid(
        &DISK_FLAGS,
        &flag,
        &format!("flag passed to partition.{verb}"),
    )?;
    let mut words = vec!["-m", "-s", &device, verb, &flag];
    let state = with_state.then(|| call.text("state"));
    if let Some(state) = &state {
        valid(&["on", "off"], state, "state passed to partition.disk_set")?;
        words.push(state);
    }
    parted(call, &words)
}
