//! The events of an orchestration about its next command.

use halite_call::{Call, MinionsCommand};
use halite_proto::{Map, Value};

/// The option under which a master that carries out an orchestration names its
/// job.
pub const ORCHESTRATION: &str = "__orchestration_jid";

/// A command for minions: `what` is `function` or `state`.
pub(super) fn of_minions(call: &Call<'_>, what: &str, name: &str, command: &MinionsCommand) {
    let mut args = Map::from([
        ("arg", Value::List(command.arg.clone())),
        ("kwarg", command.kwarg.clone().into()),
        ("ret", command.ret.as_str().into()),
        ("timeout", call.arg("timeout").clone()),
        ("tgt_type", command.tgt_type.as_str().into()),
        ("ssh", false.into()),
        ("expect_minions", call.arg("expect_minions").clone()),
    ]);
    if what == "function" {
        args.insert("_cmd_meta", true);
    }
    if let Some(batch) = &command.batch {
        args.insert("batch", batch.as_str());
    }
    if command.subset.is_some() {
        args.insert("subset", call.arg("subset").clone());
    }
    tell(
        call,
        Map::from([
            ("type", Value::from(what)),
            ("tgt", command.tgt.clone()),
            ("name", name.into()),
            ("args", args.into()),
        ]),
    );
}

/// A runner.
pub(super) fn of_runner(call: &Call<'_>, fun: &str, args: &[Value], kwargs: &Map) {
    let data = [
        ("type", Value::from("runner")),
        ("name", fun.into()),
        ("args", args.to_vec().into()),
        ("kwargs", kwargs.clone().into()),
    ];
    tell(call, Map::from(data));
}

/// A wheel function.
pub(super) fn of_wheel(call: &Call<'_>, fun: &str, kwargs: &Map) {
    let data = [
        ("type", Value::from("wheel")),
        ("name", fun.into()),
        ("args", kwargs.clone().into()),
    ];
    tell(call, Map::from(data));
}

/// Only a master has somebody to tell.
fn tell(call: &Call<'_>, data: Map) {
    let Some(jid) = call.ctx.opts().get(ORCHESTRATION).and_then(Value::as_str) else {
        return;
    };
    let Some(bus) = call.ctx.local_bus() else {
        return;
    };
    if let Err(error) = bus.fire_local(&format!("salt/run/{jid}/args"), data) {
        tracing::debug!(%error, "nobody was told what is commanded");
    }
}
