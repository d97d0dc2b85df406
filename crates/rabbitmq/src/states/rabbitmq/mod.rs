//! States of RabbitMQ: users, virtual hosts, plugins, policies, upstreams of the
//! federation, and the cluster.

mod cluster;
mod policies;
mod upstreams;
mod users;

use halite_call::{Call, CallError, CallResult, Function, Module, StateReturn};
use halite_proto::{Map, Value};

use crate::rabbitmq::CONTROL;

pub(crate) const CLUSTER: Module = Module {
    name: "rabbitmq_cluster",
    functions: &[
        Function::new(
            "rabbitmq_cluster.join",
            JOINED,
            |call| run(call, cluster::joined),
            "The same as rabbitmq_cluster.joined.",
        ),
        Function::new(
            "rabbitmq_cluster.joined",
            JOINED,
            |call| run(call, cluster::joined),
            "The broker is a part of the cluster of another.",
        ),
    ],
};

const JOINED: &str = "(name, host, user='rabbit', ram_node=None, runas='root')";

pub(crate) const PLUGIN: Module = Module {
    name: "rabbitmq_plugin",
    functions: &[
        Function::new(
            "rabbitmq_plugin.disabled",
            "(name, runas=None)",
            |call| run(call, |call| plugin(call, false)),
            "A plugin is off.",
        ),
        Function::new(
            "rabbitmq_plugin.enabled",
            "(name, runas=None)",
            |call| run(call, |call| plugin(call, true)),
            "A plugin is on.",
        ),
    ],
};

pub(crate) const POLICY: Module = Module {
    name: "rabbitmq_policy",
    functions: &[
        Function::new(
            "rabbitmq_policy.absent",
            "(name, vhost='/', runas=None)",
            |call| run(call, policies::absent),
            "There is no such policy.",
        ),
        Function::new(
            "rabbitmq_policy.present",
            "(name, pattern, definition, priority=0, vhost='/', runas=None, apply_to=None)",
            |call| run(call, policies::present),
            "A policy is as given.",
        ),
    ],
};

pub(crate) const UPSTREAM: Module = Module {
    name: "rabbitmq_upstream",
    functions: &[
        Function::new(
            "rabbitmq_upstream.absent",
            "(name, runas=None)",
            |call| run(call, upstreams::absent),
            "There is no such upstream of the federation.",
        ),
        Function::new(
            "rabbitmq_upstream.present",
            "(name, uri, prefetch_count=None, reconnect_delay=None, ack_mode=None, trust_user_id=None, exchange=None, max_hops=None, expires=None, message_ttl=None, ha_policy=None, queue=None, runas=None)",
            |call| run(call, upstreams::present),
            "An upstream of the federation is as given.",
        ),
    ],
};

pub(crate) const USER: Module = Module {
    name: "rabbitmq_user",
    functions: &[
        Function::new(
            "rabbitmq_user.absent",
            "(name, runas=None)",
            |call| run(call, users::absent),
            "There is no such user.",
        ),
        Function::new(
            "rabbitmq_user.present",
            "(name, password=None, force=False, tags=None, perms=(), runas=None)",
            |call| run(call, users::present),
            "A user has this password, these tags, and these rights in virtual hosts.",
        ),
    ],
};

pub(crate) const VHOST: Module = Module {
    name: "rabbitmq_vhost",
    functions: &[
        Function::new(
            "rabbitmq_vhost.absent",
            "(name)",
            |call| run(call, |call| vhost(call, false)),
            "There is no such virtual host.",
        ),
        Function::new(
            "rabbitmq_vhost.present",
            "(name)",
            |call| run(call, |call| vhost(call, true)),
            "There is a virtual host.",
        ),
    ],
};

/// Runs a state; what the broker refuses is its comment.
fn run(call: &Call<'_>, state: fn(&Call<'_>) -> Result<StateReturn, CallError>) -> CallResult {
    let fresh = || StateReturn::of(call);
    if !call.host().has(CONTROL) {
        let text = format!("Command not found: {CONTROL}");
        return Ok(fresh().failed(text).into());
    }
    match state(call) {
        Err(CallError::Command(why)) => Ok(fresh().failed(format!("Error: {why}")).into()),
        other => Ok(other?.into()),
    }
}

fn ask(call: &Call<'_>, fun: &str, args: &[Value]) -> CallResult {
    let runas = call.get("runas").cloned().unwrap_or_default();
    call.salt(
        &format!("rabbitmq.{fun}"),
        args,
        Map::from([("runas", runas)]),
    )
}

/// What a change from one thing to another looks like.
fn from_to(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Map::from([("old", old.into()), ("new", new.into())]).into()
}

fn plugin(call: &Call<'_>, wanted: bool) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let done = if wanted { "enabled" } else { "disabled" };
    let args = [Value::from(name.as_str())];
    if ask(call, "plugin_is_enabled", &args)?.is_true() == wanted {
        return Ok(state.ok(format!("Plugin '{name}' is already {done}.")));
    }
    let (old, new) = if wanted {
        ("", name.as_str())
    } else {
        (name.as_str(), "")
    };
    state.changes = Map::from([("old", old), ("new", new)]);
    if call.is_test() {
        return Ok(state.pending(format!("Plugin '{name}' is set to be {done}.")));
    }
    let function = if wanted {
        "enable_plugin"
    } else {
        "disable_plugin"
    };
    ask(call, function, &args)?;
    Ok(state.ok(format!("Plugin '{name}' was {done}.")))
}

fn vhost(call: &Call<'_>, wanted: bool) -> Result<StateReturn, CallError> {
    let name = call.text("name");
    let mut state = StateReturn::of(call);
    let args = [Value::from(name.as_str())];
    if ask(call, "vhost_exists", &args)?.is_true() == wanted {
        return Ok(state.ok(match wanted {
            true => format!("Virtual Host '{name}' already exists."),
            false => format!("Virtual Host '{name}' is not present."),
        }));
    }
    let (old, new) = if wanted {
        ("", name.as_str())
    } else {
        (name.as_str(), "")
    };
    state.changes = Map::from([("old", old), ("new", new)]);
    let (function, key, verb) = match wanted {
        true => ("add_vhost", "Added", "created"),
        false => ("delete_vhost", "Deleted", "removed"),
    };
    if call.is_test() {
        return Ok(state.pending(format!("Virtual Host '{name}' will be {verb}.")));
    }
    let said = ask(call, function, &args)?;
    Ok(state.ok(said.get(key).cloned().unwrap_or_default()))
}
