//! `saltutil.runner`: functions of the master, from its pillars.

use halite_proto::{Map, Value};

use halite_call::{Call, CallResult, python};

pub(super) fn runner(call: &Call<'_>) -> CallResult {
    let args = match call.arg("arg") {
        Value::Nil => Vec::new(),
        Value::List(args) => args.clone(),
        one => vec![one.clone()],
    };
    let mut kwargs = call.arg("kwarg").as_map().cloned().unwrap_or_default();
    kwargs.extend(call.clean_kwargs());
    let name = call.text("name");
    let value = call.ctx.runners()?.run(&name, args, kwargs)?;
    if !call.flag("full_return") {
        return Ok(value);
    }
    let success = !python::str(&value).starts_with("Exception occurred in runner");
    Ok(Map::from([("return", value), ("success", success.into())]).into())
}
