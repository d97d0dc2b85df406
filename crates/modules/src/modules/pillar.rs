//! `pillar.*`: what the master tells this minion in confidence.
//!
//! Invariant: a function that was called as a job shows values as
//! `**********` unless `unmask=True`; called from another function it gives
//! them, or templates could not use them.

use halite_proto::{Map, Value};

use super::grains::map_argument;
use crate::call::Call;
use crate::context::PillarRequest;
use crate::dicts::{self, Choice};
use crate::error::{CallError, CallResult};
use crate::python;
use crate::registry::{Function, Module};

const MASK: &str = "**********";
const COMPILED: &str =
    "(*args, pillar=None, pillar_enc=None, pillarenv=None, saltenv=None, unmask=None)";
const GET: &str = "(key, default=NOT_SET, merge=False, merge_nested_lists=None, delimiter=':', pillarenv=None, saltenv=None, unmask=None)";

pub(super) const MODULE: Module = Module {
    name: "pillar",
    functions: &[
        Function::new("pillar.data", COMPILED, items, "The same as pillar.items."),
        Function::new("pillar.fetch", GET, get, "The same as pillar.get."),
        Function::new(
            "pillar.filter_by",
            "(lookup_dict, pillar, merge=None, default='default', base=None)",
            filter_by,
            "Picks the entry of a map whose key matches a pillar value, over the entry\n`base`, under `merge`.",
        ),
        Function::new(
            "pillar.get",
            GET,
            get,
            "A value of the pillar that the minion holds; `a:b` is within the map or\nlist `a`. With merge, a map or list is laid over the default.",
        ),
        Function::new(
            "pillar.item",
            "(*args, default=None, delimiter=None, pillarenv=None, saltenv=None, unmask=None)",
            item,
            "Several values of the pillar that the minion holds.",
        ),
        Function::new(
            "pillar.items",
            COMPILED,
            items,
            "The pillar as the master compiles it now, with values given as `pillar`\nlaid over it; the minion's own stays as it is. unmask=True shows the values.",
        ),
        Function::new(
            "pillar.keys",
            "(key, delimiter=':', unmask=None)",
            keys,
            "The names below a value that is a map.",
        ),
        Function::new(
            "pillar.ls",
            COMPILED,
            ls,
            "The names at the top of the pillar as the master compiles it now.",
        ),
        Function::new(
            "pillar.obfuscate",
            COMPILED,
            obfuscate,
            "The pillar with the kinds of its values instead of the values.",
        ),
        Function::new(
            "pillar.raw",
            "(key=None, unmask=None)",
            raw,
            "The pillar that the minion holds, or one top-level value of it, as it is.",
        ),
    ],
};

fn masked(call: &Call<'_>, value: Value) -> Value {
    if call.depth() > 0 || call.flag("unmask") {
        value
    } else {
        mask(value)
    }
}

/// Hides everything that is not empty and not a map or list.
fn mask(value: Value) -> Value {
    match value {
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| (key, mask(value)))
            .collect::<Map>()
            .into(),
        Value::List(items) => items.into_iter().map(mask).collect::<Vec<_>>().into(),
        value if value.is_true() => MASK.into(),
        value => value,
    }
}

/// The pillar that the minion holds, or that of other environments.
fn held(call: &Call<'_>) -> Result<Map, CallError> {
    let saltenv = call.text_opt("saltenv");
    let pillarenv = call.text_opt("pillarenv");
    if saltenv.is_none() && pillarenv.is_none() {
        return Ok(Map::clone(&call.ctx.pillar()));
    }
    let request = PillarRequest {
        saltenv,
        pillarenv,
        overrides: None,
    };
    Ok(call.ctx.compile_pillar(&request)?)
}

fn get(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let pillar = held(call)?;
    let found = python::traverse_map(&pillar, &key, &call.text("delimiter"));
    let default = if call.is_given("default") {
        call.arg("default").clone()
    } else if found.is_none() && call.opt("pillar_raise_on_missing").is_true() {
        return Err(not_found(&key));
    } else {
        "".into()
    };
    let Some(found) = found else {
        return Ok(masked(call, default));
    };
    let merged = match (call.flag("merge"), default, found) {
        (true, Value::Map(mut under), Value::Map(over)) => {
            let lists = call.arg("merge_nested_lists");
            let lists = if lists.is_nil() {
                call.opt("pillar_merge_lists")
            } else {
                lists
            };
            dicts::update(&mut under, over, lists.is_true());
            under.into()
        }
        (true, Value::List(mut first), Value::List(more)) => {
            first.extend(more.iter().cloned());
            first.into()
        }
        (_, _, found) => found.clone(),
    };
    Ok(masked(call, merged))
}

fn not_found(key: &str) -> CallError {
    CallError::exception("KeyError", format!("'Pillar key not found: {key}'"))
}

fn item(call: &Call<'_>) -> CallResult {
    let pillar = held(call)?;
    let delimiter = call.text_opt("delimiter").unwrap_or_else(|| ":".to_owned());
    let default = if call.is_given("default") {
        call.arg("default").clone()
    } else {
        "".into()
    };
    let found: Map = call
        .varargs()
        .iter()
        .map(|key| {
            let value = python::traverse_map(&pillar, &python::str(key), &delimiter);
            (key.clone(), value.unwrap_or(&default).clone())
        })
        .collect();
    Ok(masked(call, found.into()))
}

/// The pillar of now, as the parameters of `pillar.items` ask for it.
fn compiled(call: &Call<'_>) -> Result<Map, CallError> {
    if call.arg("pillar_enc").is_true() {
        return Err(CallError::command(
            "pillar_enc: this minion cannot decrypt pillar values yet",
        ));
    }
    let request = PillarRequest {
        saltenv: call
            .text_opt("saltenv")
            .or_else(|| call.opt_text("saltenv")),
        pillarenv: call
            .text_opt("pillarenv")
            .or_else(|| call.opt_text("pillarenv")),
        overrides: call.arg("pillar").as_map().cloned(),
    };
    Ok(call.ctx.compile_pillar(&request)?)
}

fn items(call: &Call<'_>) -> CallResult {
    if !call.varargs().is_empty() {
        // As in Salt, asking for single values never unmasks them here.
        let found = call.salt("pillar.item", call.varargs(), Map::new())?;
        return Ok(if call.depth() > 0 { found } else { mask(found) });
    }
    let pillar = Value::from(compiled(call)?);
    if call.opt("pillar_mask_output").as_bool() == Some(false) {
        return Ok(pillar);
    }
    Ok(masked(call, pillar))
}

fn ls(call: &Call<'_>) -> CallResult {
    let names: Vec<Value> = compiled(call)?.keys().cloned().collect();
    Ok(names.into())
}

fn obfuscate(call: &Call<'_>) -> CallResult {
    Ok(kinds(masked(call, compiled(call)?.into())))
}

fn kinds(value: Value) -> Value {
    match value {
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| (key, kinds(value)))
            .collect::<Map>()
            .into(),
        Value::List(items) => items.into_iter().map(kinds).collect::<Vec<_>>().into(),
        value => format!("<{}>", value.type_name()).into(),
    }
}

fn keys(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let pillar = call.ctx.pillar();
    match python::traverse_map(&pillar, &key, &call.text("delimiter")) {
        None => Err(not_found(&key)),
        Some(Value::Map(map)) => Ok(map.keys().cloned().collect::<Vec<_>>().into()),
        Some(_) => Err(CallError::exception(
            "ValueError",
            format!("Pillar value in key {key} is not a dict"),
        )),
    }
}

fn raw(call: &Call<'_>) -> CallResult {
    let pillar = call.ctx.pillar();
    Ok(match call.text_opt("key") {
        Some(key) => pillar
            .get(&key)
            .cloned()
            .unwrap_or_else(|| Map::new().into()),
        None => Map::clone(&pillar).into(),
    })
}

fn filter_by(call: &Call<'_>) -> CallResult {
    let lookup = map_argument(call, "lookup_dict")?;
    let (default, base) = (call.text("default"), call.text_opt("base"));
    let choice = Choice {
        default: &default,
        base: base.as_deref(),
        merge: call.arg("merge"),
        merge_lists: false,
    };
    dicts::filter_by(lookup, &call.ctx.pillar(), &call.text("pillar"), &choice)
}
