//! Attributes of `chattr`, labels of SELinux, and who has files open.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use halite_call::paths::{Handed, HeldName};
use halite_call::{Call, CallError, CallResult, os_error, python};
use halite_proto::{Map, Value};

use super::paths::arg;
use crate::core::{attributes, path};

pub(super) fn lsattr(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let at = Path::new(&path);
    if !at.exists() {
        return Err(CallError::invocation(format!(
            "File or directory does not exist: {path}"
        )));
    }
    let letters: Vec<Value> = attributes::letters_of(at)
        .unwrap_or_default()
        .chars()
        .map(|letter| letter.to_string().into())
        .collect();
    let mut ret = Map::new();
    ret.insert(path, letters);
    Ok(ret.into())
}

pub(super) fn chattr(call: &Call<'_>) -> CallResult {
    let option = |name: &str| call.kwargs().get(name).map(python::str);
    let operator = match option("operator").as_deref() {
        Some("add") => '+',
        Some("remove") => '-',
        _ => {
            return Err(CallError::invocation(
                "Need an operator: 'add' or 'remove' to modify attributes.",
            ));
        }
    };
    let Some(wanted) = option("attributes").filter(|wanted| !wanted.is_empty()) else {
        return Err(CallError::invocation("Need attributes: [aAcCdDeijPsStTu]"));
    };
    let good = wanted.chars().all(|c| "aAcCdDeijPsStTu".contains(c));
    if !good {
        return Err(CallError::invocation("Need attributes: [aAcCdDeijPsStTu]"));
    }
    let mut done = true;
    for file in call.varargs() {
        let file = path::expand_user(&python::str(file));
        done &= attributes::change(Path::new(&file), &format!("{operator}{wanted}"));
    }
    Ok(done.into())
}

pub(super) fn get_selinux_context(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let mut label = vec![0_u8; 4096];
    let read = Handed::target(Path::new(&path)).and_then(|handed| {
        let name = "security.selinux";
        Ok(rustix::fs::getxattr(
            handed.word(),
            name,
            label.as_mut_slice(),
        )?)
    });
    match read {
        Ok(length) => {
            let text = String::from_utf8_lossy(&label[..length]).into_owned();
            Ok(text.trim_end_matches('\0').into())
        }
        Err(_) => Ok(format!("No selinux context information is available for {path}").into()),
    }
}

pub(super) fn set_selinux_context(call: &Call<'_>) -> CallResult {
    let path = arg(call, "path");
    let parts = [
        ("user", "-u"),
        ("role", "-r"),
        ("type", "-t"),
        ("range", "-l"),
    ];
    let mut command: Vec<Value> = vec!["chcon".into()];
    for (name, option) in parts {
        if let Some(value) = call.text_opt(name) {
            command.extend([Value::from(option), value.into()]);
        }
    }
    if command.len() == 1 {
        return Ok(false.into());
    }
    let handed = Handed::target(Path::new(&path)).map_err(|error| os_error(&error, &path))?;
    command.push(handed.word().into());
    let code = call.salt(
        "cmd.retcode",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )?;
    if code.as_i64() == Some(0) {
        return get_selinux_context(call);
    }
    Ok(false.into())
}

pub(super) fn restorecon(call: &Call<'_>) -> CallResult {
    // The program looks the real path up in the policy, whatever it is given: what it
    // sets is what the policy says of that.
    let path = arg(call, "path");
    let place = HeldName::of(Path::new(&path)).map_err(|error| os_error(&error, &path))?;
    let mut command: Vec<Value> = vec!["restorecon".into()];
    command.push(if call.flag("recursive") { "-FR" } else { "-F" }.into());
    command.push(place.real_path().display().to_string().into());
    let code = call.salt(
        "cmd.retcode",
        &[command.into()],
        Map::from([("python_shell", false)]),
    )?;
    Ok((code.as_i64() == Some(0)).into())
}

pub(super) fn open_files(call: &Call<'_>) -> CallResult {
    let mut by_file: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut by_pid = Map::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let mut files: Vec<String> = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .filter(|target| target.is_absolute() && target.exists())
            .map(|target| target.display().to_string())
            .collect();
        files.sort();
        files.dedup();
        for file in &files {
            by_file.entry(file.clone()).or_default().push(pid.into());
        }
        if !files.is_empty() {
            let files: Vec<Value> = files.into_iter().map(Value::from).collect();
            by_pid.insert(pid, files);
        }
    }
    if call.flag("by_pid") {
        return Ok(by_pid.into());
    }
    Ok(Map::from_iter(by_file).into())
}
