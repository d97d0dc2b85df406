//! udev's data about devices: the execution module `udev`.

use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

use halite_call::host::{need, plain, run};

pub(crate) const MODULE: Module = Module {
    name: "udev",
    functions: &[
        Function::new(
            "udev.env",
            "(dev)",
            |call| part(call, "E"),
            "The properties of a device.",
        ),
        Function::new(
            "udev.exportdb",
            "(subsystems=None)",
            exportdb,
            "Everything that is known of all devices, or of those of some subsystems.",
        ),
        Function::new(
            "udev.info",
            "(dev)",
            |call| Ok(info(call)?.into()),
            "Everything that is known of a device.",
        ),
        Function::new(
            "udev.links",
            "(dev)",
            |call| part(call, "S"),
            "The links that lead to a device.",
        ),
        Function::new(
            "udev.name",
            "(dev)",
            |call| part(call, "N"),
            "The name of a device.",
        ),
        Function::new(
            "udev.path",
            "(dev)",
            |call| part(call, "P"),
            "The path of a device.",
        ),
    ],
};

fn value(text: &str) -> Value {
    let text = Value::from(text);
    python::int(&text)
        .map(Value::from)
        .or_else(|_| python::float(&text).map(Value::from))
        .unwrap_or(text)
}

/// The records of a listing, one for each device.
fn records(text: &str) -> Vec<Map> {
    let mut devices = Vec::new();
    let mut device = Map::new();
    for line in text.lines().map(str::trim).chain([""]) {
        if line.is_empty() {
            if !device.is_empty() {
                devices.push(single(std::mem::take(&mut device)));
            }
            continue;
        }
        let Some((query, data)) = line.split_once(':') else {
            continue;
        };
        let data = data.trim();
        if query == "E" {
            let Some((key, text)) = data.split_once('=') else {
                continue;
            };
            let all = device.get_or_insert_with("E", || Value::Map(Map::new()));
            if let Value::Map(all) = all {
                all.insert(key, value(text));
            }
        } else if let Value::List(all) =
            device.get_or_insert_with(query, || Value::List(Vec::new()))
        {
            all.push(data.into());
        }
    }
    devices
}

/// Lists of one are that one.
fn single(device: Map) -> Map {
    let entries = device.into_iter();
    entries
        .map(|(key, value)| match value {
            Value::List(mut items) if items.len() == 1 => (key, items.pop().unwrap_or_default()),
            other => (key, other),
        })
        .collect()
}

fn asked(call: &Call<'_>, words: &[&str]) -> Result<Vec<Map>, CallError> {
    need(call, "udevadm")?;
    let ran = run(call, words)?;
    match ran.ok() {
        true => Ok(records(&ran.stdout)),
        false => Err(CallError::command(ran.stderr)),
    }
}

fn info(call: &Call<'_>) -> Result<Map, CallError> {
    let device = call.text("dev");
    plain(&device)?;
    let kind = if device.contains("sys") {
        "path"
    } else {
        "name"
    };
    let device = format!("--{kind}={device}");
    let words = ["udevadm", "info", "--export", "--query=all", &device];
    let found = asked(call, &words)?.into_iter().next();
    found.ok_or_else(|| CallError::exception("IndexError", "list index out of range"))
}

fn part(call: &Call<'_>, name: &str) -> CallResult {
    Ok(info(call)?.remove(name).unwrap_or_default())
}

fn exportdb(call: &Call<'_>) -> CallResult {
    let wanted = match call.arg("subsystems") {
        Value::Nil => None,
        Value::List(wanted) => Some(wanted),
        _ => return Err(CallError::invocation("subsystems must be a list")),
    };
    let mut devices = asked(call, &["udevadm", "info", "--export-db"])?;
    if let Some(wanted) = wanted {
        devices.retain(|device| {
            let subsystem = device.get("E").and_then(|all| all.get("SUBSYSTEM"));
            subsystem.is_some_and(|subsystem| wanted.contains(subsystem))
        });
    }
    Ok(devices
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read() {
        let text =
            "P: /devices/a\nN: a\nS: x/1\nS: x/2\nE: MAJOR=8\nE: NAME=a b\n\nP: /devices/b\n";
        let devices = records(text);
        assert_eq!(devices.len(), 2);
        assert_eq!(devices[0].get("N"), Some(&"a".into()));
        assert_eq!(devices[0].get("S").unwrap().as_list().unwrap().len(), 2);
        assert_eq!(devices[0].get("E").unwrap().get("MAJOR"), Some(&8.into()));
    }
}
