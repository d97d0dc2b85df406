//! Swap space that is in use.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult};
use halite_proto::{Map, Value};

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

pub(super) fn swaps(call: &Call<'_>) -> CallResult {
    Ok(swaps_of(call).into())
}

fn place(call: &Call<'_>) -> Result<String, CallError> {
    let name = call.text("name");
    if name.is_empty() || name.starts_with('-') {
        return Err(CallError::invocation(format!("not a device: {name:?}")));
    }
    Ok(name)
}

pub(super) fn swapon(call: &Call<'_>) -> CallResult {
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

pub(super) fn swapoff(call: &Call<'_>) -> CallResult {
    let name = place(call)?;
    if !swaps_of(call).contains_key(&name) {
        return Ok(Value::Nil);
    }
    Program::new(call, &["swapoff", &name]).run()?;
    Ok((!swaps_of(call).contains_key(&name)).into())
}
