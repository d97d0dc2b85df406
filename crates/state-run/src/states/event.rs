//! `event`: events for the master as states.

use halite_call::{Call, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

pub(super) const MODULE: Module = Module {
    name: "event",
    functions: &[
        Function::new("event.fire_master", SEND, send, DOC),
        Function::new("event.mod_watch", SEND, send, DOC),
        Function::new("event.send", SEND, send, DOC),
        Function::new(
            "event.wait",
            "(name, sfun=None, data=None)",
            |call| Ok(StateReturn::of(call).into()),
            "Sends an event only if something that is watched has changed.",
        ),
    ],
};

const SEND: &str = "(name, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, show_changed=True, **kwargs)";

const DOC: &str = "Sends an event with the tag `name` to the master.";

fn send(call: &Call<'_>) -> CallResult {
    let name = call.arg("name").clone();
    let data = call.arg("data").clone();
    let mut ret = StateReturn::new(name.clone());
    if call.flag("show_changed") {
        ret = ret.change("tag", name.clone()).change("data", data.clone());
    }
    if call.is_test() {
        return Ok(ret.pending("Event would have been fired").into());
    }
    let mut kwargs = Map::from([("data", data)]);
    for key in ["preload", "with_env", "with_grains", "with_pillar"] {
        kwargs.insert(key, call.arg(key).clone());
    }
    kwargs.extend(call.kwargs().clone());
    let sent = call.salt("event.send", &[name], kwargs)?;
    ret.result = match sent {
        Value::Nil => None,
        sent => Some(sent.is_true()),
    };
    ret.comment = "Event fired".into();
    Ok(ret.into())
}
