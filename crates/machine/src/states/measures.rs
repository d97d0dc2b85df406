//! States that change nothing and only check a measurement: the space of a disk,
//! the load, a process.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const DISK: Module = Module {
    name: "disk",
    functions: &[Function::new(
        "disk.status",
        "(name, maximum=None, minimum=None, absolute=False, free=False)",
        disk,
        "The used (or free) space of a mount, or of the disk of a directory, is within\nbounds: in percent, or absolute in KB.",
    )],
};

pub(crate) const STATUS: Module = Module {
    name: "status",
    functions: &[
        Function::new(
            "status.loadavg",
            "(name, maximum=None, minimum=None)",
            load,
            "The load (1-min, 5-min or 15-min) is within bounds.",
        ),
        Function::new(
            "status.process",
            "(name)",
            process,
            "A process runs whose command line has this in it.",
        ),
    ],
};

fn done(call: &Call<'_>, result: bool, comment: String, data: impl Into<Value>) -> CallResult {
    let state = StateReturn::of(call);
    let mut state = if result {
        state.ok(comment)
    } else {
        state.failed(comment)
    };
    state.more.insert("data", data.into());
    Ok(state.into())
}

/// A bound of the arguments: a number, or one of percent.
fn bound(call: &Call<'_>, name: &str) -> Result<Option<i64>, String> {
    let value = call.arg(name);
    if *value == Value::Nil {
        return Ok(None);
    }
    let absolute = call.flag("absolute");
    let text = python::str(value);
    let digits = if absolute {
        text.as_str()
    } else {
        text.trim_end_matches('%')
    };
    let number = digits.trim().parse();
    let number: i64 = number.map_err(|_| format!("{name} must be an integer "))?;
    if !absolute && !(0..=100).contains(&number) {
        return Err(format!("{name} must be in the range [0, 100] "));
    }
    Ok(Some(number))
}

fn disk(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let bounds = bound(call, "maximum").and_then(|most| Ok((most, bound(call, "minimum")?)));
    let (most, least) = match bounds {
        Ok((Some(most), Some(least))) if least >= most => {
            let comment = "minimum must be less than maximum ".to_owned();
            return done(call, false, comment, Map::new());
        }
        Ok(bounds) => bounds,
        Err(comment) => return done(call, false, comment, Map::new()),
    };
    let number = |map: &Value, key: &str| -> i64 {
        let text = map.get(key).map(python::str).unwrap_or_default();
        text.trim_end_matches('%').parse().unwrap_or(0)
    };
    let (absolute, free) = (call.flag("absolute"), call.flag("free"));
    let mounts = call.salt("disk.usage", &[], Map::new())?;
    let (data, (value, shown)) = match mounts.get(&name) {
        Some(mount) => {
            let value = match (absolute, free) {
                (true, true) => number(mount, "available"),
                (true, false) => number(mount, "used"),
                (false, true) => 100 - number(mount, "capacity"),
                (false, false) => number(mount, "capacity"),
            };
            (mount.clone(), (value as f64, value.to_string()))
        }
        None if call.host().path(&name).is_dir() => {
            let data = call.salt("status.diskusage", &[name.as_str().into()], Map::new())?;
            let disk = data.get(&name).cloned().unwrap_or_default();
            let (total, available) = (number(&disk, "total"), number(&disk, "available"));
            let amount = if free { available } else { total - available };
            // Of a directory Salt tells bytes, whatever it calls them.
            let value = if absolute {
                (amount as f64, amount.to_string())
            } else {
                let share = 1000.0 * amount as f64 / total.max(1) as f64;
                let share = share.round() / 10.0;
                (share, python::str(&Value::Float(share)))
            };
            (data, value)
        }
        None => {
            let comment = format!(
                "Disk mount {name} not present. Directory {name} does not exist or is not a directory"
            );
            return done(call, false, comment, Map::new());
        }
    };
    let unit = if absolute { "KB" } else { "%" };
    let what = if free { "available" } else { "used" };
    let comment = match (least, most) {
        (Some(least), _) if value < least as f64 => {
            format!("Disk {what} space is below minimum of {least} {unit} at {shown} {unit}")
        }
        (_, Some(most)) if value > most as f64 => {
            format!("Disk {what} space is above maximum of {most} {unit} at {shown} {unit}")
        }
        _ => {
            let comment = format!("Disk {what} space in acceptable range");
            return done(call, true, comment, data);
        }
    };
    done(call, false, comment, data)
}

fn load(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let loads = call.salt("status.loadavg", &[], Map::new())?;
    let Some(data) = loads.get(&name) else {
        let comment = format!("Requested load average {name} not available ");
        return done(call, false, comment, Map::new());
    };
    let value = python::float(data)?;
    let bound = |name: &str| -> Result<Option<(f64, String)>, CallError> {
        let bound = call.arg(name);
        if !bound.is_true() {
            return Ok(None);
        }
        Ok(Some((python::float(bound)?, python::str(bound))))
    };
    let shown = python::str(data);
    let comment = match (bound("minimum")?, bound("maximum")?) {
        (Some((least, text)), _) if value < least => {
            format!("Load avg is below minimum of {text} at {shown}")
        }
        (_, Some((most, text))) if value > most => {
            format!("Load avg above maximum of {text} at {shown}")
        }
        _ => {
            let comment = "Load avg in acceptable range".to_owned();
            return done(call, true, comment, data.clone());
        }
    };
    done(call, false, comment, data.clone())
}

fn process(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let pids = call.salt("status.pid", &[name.as_str().into()], Map::new())?;
    if pids.is_true() {
        let comment = format!("Process signature \"{name}\" was found ");
        return done(call, true, comment, pids);
    }
    let comment = format!("Process signature \"{name}\" not found ");
    done(call, false, comment, Map::new())
}
