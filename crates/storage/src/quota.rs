//! Disk quotas of users and groups: the execution module `quota`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use halite_call::host::{need, plain, run};

pub(crate) const MODULE: Module = Module {
    name: "quota",
    functions: &[
        Function::new(
            "quota.get_mode",
            "(device)",
            get_mode,
            "Whether the quotas of a file system are on: its device, and on or off for\nuser and group.",
        ),
        Function::new(
            "quota.off",
            "(device)",
            |call| switch(call, "quotaoff"),
            "Turns the quotas of a file system off.",
        ),
        Function::new(
            "quota.on",
            "(device)",
            |call| switch(call, "quotaon"),
            "Turns the quotas of a file system on.",
        ),
        Function::new(
            "quota.report",
            "(mount)",
            report,
            "What each user and group has stored (blocks of 1 KiB, and files) and may.",
        ),
        Function::new(
            "quota.set",
            "(device, **kwargs)",
            set,
            "Sets the limits of a user or of a group: block-soft-limit and\nblock-hard-limit (KiB), file-soft-limit and file-hard-limit; 0 is none.",
        ),
        Function::new("quota.stats", "()", stats, "The counters of the kernel."),
        Function::new(
            "quota.warn",
            "()",
            |call| {
                need(call, "warnquota")?;
                run(call, &["warnquota"])?;
                Ok(Value::Nil)
            },
            "Writes to the users that are beyond their limits.",
        ),
    ],
};

const LIMITS: [&str; 4] = [
    "block-soft-limit",
    "block-hard-limit",
    "file-soft-limit",
    "file-hard-limit",
];

/// What `repquota` tells of each name, after its two flags.
const COLUMNS: [&str; 8] = [
    "block-used",
    "block-soft-limit",
    "block-hard-limit",
    "block-grace",
    "file-used",
    "file-soft-limit",
    "file-hard-limit",
    "file-grace",
];

fn file_system(call: &Call<'_>, argument: &str) -> Result<String, CallError> {
    let name = call.text(argument);
    plain(&name)?;
    Ok(name)
}

fn report(call: &Call<'_>) -> CallResult {
    let mount = file_system(call, "mount")?;
    let of = Map::from([
        ("User Quotas", reported(call, &mount, "-u", "Users")?),
        ("Group Quotas", reported(call, &mount, "-g", "Groups")?),
    ]);
    Ok([(mount, of)].into_iter().collect::<Map>().into())
}

fn reported(call: &Call<'_>, mount: &str, flag: &str, whose: &str) -> Result<Map, CallError> {
    need(call, "repquota")?;
    let said = run(call, &["repquota", "-vp", flag, mount])?.stdout;
    Ok(table(&said, whose))
}

/// The report of one kind of quota.
fn table(said: &str, whose: &str) -> Map {
    let (mut names, mut about) = (Map::new(), Map::new());
    let mut in_table = false;
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with("Block grace") {
            let mut parts = line.split(';').filter_map(|part| part.split_once(": "));
            for key in ["Block Grace Time", "Inode Grace Time"] {
                let time = parts.next().map_or("", |(_, time)| time.trim());
                about.insert(key, vec![Value::from(time)]);
            }
        } else if line.starts_with("----") {
            in_table = true;
        } else if words.is_empty() {
            in_table = false;
        } else if let (true, [name, _, values @ ..]) = (in_table, words.as_slice()) {
            names.insert(
                *name,
                COLUMNS
                    .into_iter()
                    .zip(values.iter().map(|value| Value::from(*value)))
                    .collect::<Map>(),
            );
        }
    }
    let mut all = Map::new();
    all.insert(whose, names);
    all.extend(about);
    all
}

fn set(call: &Call<'_>) -> CallResult {
    let device = file_system(call, "device")?;
    let kwargs = call.clean_kwargs();
    let (flag, kind, whose, name) = match (kwargs.get("user"), kwargs.get("group")) {
        (Some(_), Some(_)) => {
            return Err(CallError::invocation(
                "Please specify a user or group, not both.",
            ));
        }
        (Some(user), None) => ("-u", "User", "Users", python::str(user)),
        (None, Some(group)) => ("-g", "Group", "Groups", python::str(group)),
        (None, None) => {
            return Err(CallError::command("A valid user or group was not found"));
        }
    };
    plain(&name)?;
    if let Some(unknown) = kwargs
        .keys()
        .map(python::str)
        .find(|key| !LIMITS.contains(&key.as_str()) && !["user", "group"].contains(&key.as_str()))
    {
        return Err(CallError::invocation(format!("not a limit: {unknown}")));
    }
    // What is not to be changed stays.
    let now = reported(call, &device, flag, whose)?;
    let now = now.get(whose).and_then(|names| names.get(&name));
    let mut limits = Map::new();
    for limit in LIMITS {
        let value = match kwargs.get(limit) {
            Some(value) => python::int(value)?,
            None => now
                .and_then(|now| now.get(limit))
                .and_then(|value| python::int(value).ok())
                .unwrap_or_default(),
        };
        limits.insert(limit, value);
    }
    need(call, "setquota")?;
    let mut program = Program::new(call, &["setquota", flag, &name]);
    for value in limits.values() {
        program = program.arg(python::str(value));
    }
    let ran = program.arg(device.as_str()).run()?;
    if !ran.ok() {
        return Err(CallError::command(format!(
            "Unable to set desired quota. Error follows: \n{}",
            ran.complaint()
        )));
    }
    Ok([(format!("{kind}: {name}"), limits)]
        .into_iter()
        .collect::<Map>()
        .into())
}

fn stats(call: &Call<'_>) -> CallResult {
    need(call, "quotastats")?;
    let said = run(call, &["quotastats"])?.stdout;
    let pairs = said.lines().filter_map(|line| line.split_once(": "));
    Ok(pairs.collect::<Map>().into())
}

fn switch(call: &Call<'_>, program: &str) -> CallResult {
    let device = file_system(call, "device")?;
    need(call, program)?;
    Ok(run(call, &[program, &device])?.ok().into())
}

fn get_mode(call: &Call<'_>) -> CallResult {
    let device = file_system(call, "device")?;
    need(call, "quotaon")?;
    // The return code tells which are on, not whether something went wrong.
    let ran = Program::new(call, &["quotaon", "-p", &device])
        .may_fail()
        .run()?;
    Ok(modes(&ran.stdout).into())
}

/// `group quota on /data (/dev/vdb) is off`, line by line.
fn modes(said: &str) -> Map {
    let mut all = Map::new();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, "quota", "on", mount, device, "is", mode, ..] = words.as_slice() else {
            continue;
        };
        let entry = all.get_or_insert_with(*mount, || Map::new().into());
        if let Value::Map(entry) = entry {
            entry.insert("device", device.trim_matches(['(', ')']));
            entry.insert(*kind, *mode);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_ends_at_the_empty_line() {
        let said = "*** Report\nBlock grace time: 7days; Inode grace time: 6days\n---\n----\nann -- 1 2 3 0 4 5 6 0\n\nTotal blocks: 7 8\n";
        let all = table(said, "Users");
        assert_eq!(
            all.get("Block Grace Time"),
            Some(&vec![Value::from("7days")].into())
        );
        assert_eq!(
            all.get("Inode Grace Time"),
            Some(&vec![Value::from("6days")].into())
        );
        let users = all.get("Users").unwrap().as_map().unwrap();
        assert_eq!(users.len(), 1);
        let ann = users.get("ann").unwrap();
        assert_eq!(ann.get("block-hard-limit"), Some(&"3".into()));
        assert_eq!(ann.get("file-used"), Some(&"4".into()));
    }

    #[test]
    fn lines_that_tell_no_mode_are_left_out() {
        let all = modes("quotaon: cannot find /x\nuser quota on /d (/dev/b) is on\n");
        assert_eq!(all.len(), 1);
        assert_eq!(all.get("/d").unwrap().get("user"), Some(&"on".into()));
    }
}
