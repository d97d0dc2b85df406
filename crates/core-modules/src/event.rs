//! `event.*`: messages to the minion itself and to its masters.

use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, ContextError, Function, Module, python};

pub(super) const MODULE: Module = Module {
    name: "event",
    functions: &[
        Function::new(
            "event.fire",
            "(data, tag)",
            fire,
            "Puts an event on the minion's own bus.",
        ),
        Function::new(
            "event.fire_master",
            "(data, tag, preload=None)",
            fire_master,
            "Sends an event to the master.",
        ),
        Function::new(
            "event.send",
            "(tag, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, with_env_opts=False, **kwargs)",
            send,
            "Sends an event to the master: data and keyword arguments, with variables of\nthe environment, grains or pillar values if asked for (True, or a list of\nnames).",
        ),
    ],
};

fn fire(call: &Call<'_>) -> CallResult {
    let Value::Map(data) = call.arg("data") else {
        tracing::error!("event.fire: the data must be a map");
        return Ok(false.into());
    };
    let fired = match call.ctx.local_bus() {
        Some(bus) => bus.fire_local(&call.text("tag"), data.clone())?,
        None => false,
    };
    Ok(fired.into())
}

fn fire_master(call: &Call<'_>) -> CallResult {
    Ok(to_master(call, &call.text("tag"), call.arg("data").clone()))
}

/// Sends an event, with what `preload` puts beside its data; whether a master
/// took it.
fn to_master(call: &Call<'_>, tag: &str, data: Value) -> Value {
    let bus = call.ctx.master_bus();
    let fired = bus.and_then(|bus| match call.arg("preload") {
        Value::Map(fields) if !fields.is_empty() => bus.fire_with(fields, tag, data),
        other if other.is_true() => bus.fire_with(&Map::new(), tag, data),
        _ => bus.fire_master(tag, data),
    });
    fired
        .unwrap_or_else(|error| {
            match error {
                ContextError::NoMaster => {
                    tracing::warn!("Local mode detected. Event with tag {tag} will NOT be sent.")
                }
                error => tracing::error!(%error, "the event was not sent"),
            }
            false
        })
        .into()
}

fn send(call: &Call<'_>) -> CallResult {
    let mut data = Map::new();
    let wanted = |name: &str, all: &Map| -> Option<Map> {
        match call.arg(name) {
            Value::List(names) => Some(
                names
                    .iter()
                    .map(|name| {
                        (
                            name.clone(),
                            all.get_value(name).cloned().unwrap_or_else(|| "".into()),
                        )
                    })
                    .collect(),
            ),
            flag if flag.is_true() => Some(all.clone()),
            _ => None,
        }
    };
    let variables: Map = call.job.env.all().into_iter().collect();
    if let Some(variables) = wanted("with_env", &variables) {
        data.insert("environ", variables);
    }
    if let Some(grains) = wanted("with_grains", &call.ctx.grains()) {
        data.insert("grains", grains);
    }
    if call.arg("with_pillar").is_true()
        && let Some(pillar) = wanted("with_pillar", &call.ctx.pillar())
    {
        data.insert("pillar", pillar);
    }
    if call.flag("with_env_opts") {
        for name in ["saltenv", "pillarenv"] {
            data.insert(name, call.opt(name).clone());
        }
    }
    // The publication comes along, as in Salt.
    data.extend(call.kwargs().clone());
    // What is no map is left out, as in Salt.
    if let Value::Map(more) = call.arg("data") {
        data.extend(more.clone());
    }
    let tag = python::str(call.arg("tag"));
    Ok(to_master(call, &tag, data.into()))
}
