//! States of the time zone.

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn, python};

use crate::timezone;

pub(crate) const MODULE: Module = Module {
    name: "timezone",
    functions: &[Function::new(
        "timezone.system",
        "(name, utc=True)",
        system,
        "The system has a time zone, and its clock UTC.",
    )],
};

fn system(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let utc = call.flag("utc");
    let same = match timezone::is_zone(call, &name) {
        Ok(same) => same,
        Err(CallError::Command(text) | CallError::Invocation(text)) => {
            return Ok(state
                .failed(format!(
                    "Unable to compare desired timezone '{name}' to system timezone: {text}"
                ))
                .into());
        }
        Err(other) => return Err(other),
    };
    let is_utc = timezone::hwclock(call)? != "localtime";
    let do_utc = utc && !is_utc;
    let mut messages = Vec::new();
    if same && !do_utc {
        messages.push(format!("Timezone {name} already set"));
        if utc {
            messages.push(format!("UTC already set to {name}"));
        }
        return Ok(state.ok(messages.join(", ")).into());
    }
    let shown = python::str(call.arg("utc"));
    if call.is_test() {
        if !same {
            messages.push(format!("Timezone {name} needs to be set"));
        }
        if do_utc {
            messages.push(format!("UTC needs to be set to {shown}"));
        }
        return Ok(state.pending(messages.join(", ")).into());
    }
    state.result = None;
    if !same {
        if timezone::set_zone(call, &name)? {
            state.changes.insert("timezone", name.as_str());
            messages.push(format!("Set timezone {name}"));
            state.result = Some(true);
        } else {
            messages.push("Failed to set timezone".to_owned());
            state.result = Some(false);
        }
    }
    if do_utc {
        if timezone::set_hwclock(call, "UTC")? {
            state.changes.insert("utc", call.arg("utc").clone());
            messages.push(format!("Set UTC to {shown}"));
            state.result = Some(true);
        } else {
            messages.push(format!("Failed to set UTC to {shown}"));
            state.result = Some(false);
        }
    }
    state.comment = messages.join(", ").into();
    Ok(state.into())
}
