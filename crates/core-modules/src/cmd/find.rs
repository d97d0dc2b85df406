//! Which programs and terminals there are.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use halite_proto::{Map, Value};

use halite_call::host::which;
use halite_call::{Call, CallResult, paths};

fn path_value(path: Option<PathBuf>) -> Value {
    path.map(|path| path.display().to_string()).into()
}

pub(super) fn which_(call: &Call<'_>) -> CallResult {
    Ok(path_value(which(&call.text("cmd"))))
}

pub(super) fn which_bin(call: &Call<'_>) -> CallResult {
    Ok(path_value(
        call.texts("cmds").iter().find_map(|name| which(name)),
    ))
}

pub(super) fn has_exec(call: &Call<'_>) -> CallResult {
    Ok(which(&call.text("cmd")).is_some().into())
}

pub(super) fn shells(_: &Call<'_>) -> CallResult {
    let text = fs::read_to_string("/etc/shells").unwrap_or_default();
    let shells: Vec<Value> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(Value::from)
        .collect();
    Ok(shells.into())
}

pub(super) fn tty(call: &Call<'_>) -> CallResult {
    let answer = |kind: &str, text: String| Ok(Map::from([(kind, text)]).into());
    let device = call.text("device");
    let number = |prefix: &str| {
        device.strip_prefix(prefix).filter(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let path = match (number("tty"), number("pts")) {
        (Some(_), _) => format!("/dev/{device}"),
        (_, Some(number)) => format!("/dev/pts/{number}"),
        _ => {
            return answer(
                "Error",
                "The specified device is not a valid TTY".to_owned(),
            );
        }
    };
    let written = paths::open_to_write(&path)
        .and_then(|mut terminal| writeln!(terminal, "{}", call.text("echo")));
    match written {
        Ok(()) => answer(
            "Success",
            format!("Message was successfully echoed to {path}"),
        ),
        Err(_) => answer("Error", format!("Echoing to {path} returned error")),
    }
}
