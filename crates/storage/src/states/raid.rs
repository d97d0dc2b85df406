//! States of arrays of disks.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "raid",
    functions: &[
        Function::new(
            "raid.absent",
            "(name)",
            absent,
            "There is no array of a name; the devices that were part of it are plain\nones again.",
        ),
        Function::new(
            "raid.present",
            "(name, level, devices, **kwargs)",
            present,
            "There is an array of devices: it is made, or put together of devices\nthat are part of one, and new devices are added. Further arguments are\noptions of mdadm.",
        ),
    ],
};

fn arrays(call: &Call<'_>) -> Result<Map, CallError> {
    let arrays = call.salt("raid.list", &[], Map::new())?;
    Ok(arrays.as_map().cloned().unwrap_or_default())
}

fn list(devices: &[String]) -> Value {
    let devices = devices.iter().map(|device| device.as_str().into());
    Value::List(devices.collect())
}

fn shown(devices: &[String]) -> String {
    python::repr(&list(devices))
}

/// The devices that are asked for.
#[derive(Default)]
struct Devices {
    missing: Vec<String>,
    /// Those that are part of no array.
    new: Vec<String>,
    /// Those that are part of one.
    old: Vec<String>,
    /// The arrays that they say to be part of, sorted.
    ids: Vec<String>,
}

impl Devices {
    fn of(call: &Call<'_>, wanted: &[String]) -> Result<Self, CallError> {
        let mut found = Self::default();
        for device in wanted {
            if device == "missing" || !call.host().path(device).exists() {
                found.missing.push(device.clone());
                continue;
            }
            let quiet = Map::from([("quiet", true)]);
            let about = call.salt("raid.examine", &[device.as_str().into()], quiet)?;
            match about.get("MD_UUID").map(python::str) {
                None => found.new.push(device.clone()),
                Some(id) => {
                    found.old.push(device.clone());
                    if let Err(at) = found.ids.binary_search(&id) {
                        found.ids.insert(at, id);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Why they cannot be the array, if they cannot.
    fn complaint(&self, array: Option<&Value>) -> Option<String> {
        if self.ids.len() > 1 {
            return Some(format!(
                "Devices are a mix of RAID constituents with multiple MD_UUIDs: {}.",
                shown(&self.ids)
            ));
        }
        match (array, self.ids.first()) {
            (None, _) if self.new.is_empty() && self.old.is_empty() => Some(format!(
                "All devices are missing: {}.",
                shown(&self.missing)
            )),
            (Some(array), Some(id)) => {
                let own = array.get("uuid").map(python::str).unwrap_or_default();
                (own != *id).then(|| {
                    format!("Devices MD_UUIDs: {id} differs from present RAID uuid {own}.")
                })
            }
            _ => None,
        }
    }
}

/// How the array comes to be there.
enum Way {
    Present,
    Assemble,
    Create,
}

fn present(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let wanted = match call.arg("devices") {
        Value::Str(one) => vec![one.clone()],
        list => python::texts(list),
    };
    let mut state = StateReturn::of(call);
    let known = arrays(call)?;
    let array = known.get(&name);
    let devices = Devices::of(call, &wanted)?;
    if let Some(complaint) = devices.complaint(array) {
        return Ok(state.failed(complaint).into());
    }
    let way = match (array, devices.old.is_empty()) {
        (Some(_), _) => Way::Present,
        (None, false) => Way::Assemble,
        (None, true) => Way::Create,
    };
    // New devices are part of an array that is made.
    let to_add: &[String] = match way {
        Way::Create => &[],
        _ => &devices.new,
    };
    let mut parts = vec![match way {
        Way::Present => format!("Raid {name} already present."),
        _ if call.is_test() => predicted(call, &name, &way, &devices, &wanted)?,
        _ => match built(call, &mut state, &name, &way, &devices, &wanted)? {
            Ok(told) => told,
            Err(told) => return Ok(state.failed(told).into()),
        },
    }];
    if call.is_test() {
        if !to_add.is_empty() {
            parts.push(format!("New devices will be added: {}", shown(to_add)));
        }
        if !matches!(way, Way::Present) || !to_add.is_empty() {
            state.result = None;
        }
    } else {
        add(call, &mut state, &mut parts, &name, to_add)?;
    }
    if !devices.missing.is_empty() {
        parts.push(format!("Missing devices: {}", shown(&devices.missing)));
    }
    state.comment = parts.join(" ").into();
    Ok(state.into())
}

/// Runs what makes the array, or tells the command.
fn run(
    call: &Call<'_>,
    name: &str,
    way: &Way,
    devices: &Devices,
    wanted: &[String],
    is_test: bool,
) -> CallResult {
    let mut kwargs = call.own_kwargs();
    if is_test {
        kwargs.insert("test_mode", true);
    }
    match way {
        Way::Create => {
            kwargs.insert("level", call.arg("level").clone());
            kwargs.insert("devices", list(wanted));
            call.salt("raid.create", &[name.into()], kwargs)
        }
        _ => {
            let both = [name.into(), list(&devices.old)];
            call.salt("raid.assemble", &both, kwargs)
        }
    }
}

fn predicted(
    call: &Call<'_>,
    name: &str,
    way: &Way,
    devices: &Devices,
    wanted: &[String],
) -> Result<String, CallError> {
    let command = python::str(&run(call, name, way, devices, wanted, true)?);
    Ok(match way {
        Way::Create => format!("Raid will be created with: {command}"),
        _ => format!("Raid will be assembled with: {command}"),
    })
}

/// Makes the array and looks for it; what to say of that, good or bad.
fn built(
    call: &Call<'_>,
    state: &mut StateReturn,
    name: &str,
    way: &Way,
    devices: &Devices,
    wanted: &[String],
) -> Result<Result<String, String>, CallError> {
    let verb = match way {
        Way::Create => "created",
        _ => "assembled",
    };
    run(call, name, way, devices, wanted, false)?;
    let Some(Value::Map(about)) = arrays(call)?.get(name).cloned() else {
        return Ok(Err(format!("Raid {name} failed to be {verb}.")));
    };
    state.changes = about;
    call.salt("raid.save_config", &[], Map::new())?;
    Ok(Ok(format!("Raid {name} {verb}.")))
}

/// Adds devices to the array.
fn add(
    call: &Call<'_>,
    state: &mut StateReturn,
    parts: &mut Vec<String>,
    name: &str,
    devices: &[String],
) -> Result<(), CallError> {
    let mut added = Vec::new();
    for device in devices {
        let both = [name.into(), device.as_str().into()];
        match call.salt("raid.add", &both, Map::new()) {
            Ok(done) if done.is_true() => {
                parts.push(format!("Added new device {device} to {name}.\n"));
                added.push(device.clone());
            }
            Ok(_) | Err(CallError::Command(_)) => {
                parts.push(format!("Unable to add {device} to {name}.\n"));
                state.result = Some(false);
            }
            Err(other) => return Err(other),
        }
    }
    if !added.is_empty() {
        state.changes.insert("added", list(&added));
    }
    Ok(())
}

fn absent(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let state = StateReturn::of(call);
    if !arrays(call)?.contains_key(&name) {
        return Ok(state.ok(format!("Raid {name} already absent")).into());
    }
    if call.is_test() {
        let comment = format!("Raid {name} is set to be destroyed");
        return Ok(state.pending(comment).into());
    }
    let is_gone = call.salt("raid.destroy", &[name.as_str().into()], Map::new())?;
    Ok(match is_gone.is_true() {
        true => state.ok(format!("Raid {name} has been destroyed")),
        false => state.failed(format!("Raid {name} failed to be destroyed")),
    }
    .into())
}
