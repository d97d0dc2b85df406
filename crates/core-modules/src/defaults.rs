//! `defaults.*`: the defaults of formulas.

use halite_proto::{Map, Value, json};

use halite_call::{Call, CallError, CallResult, Function, Module, dicts, paths, python};

pub(super) const MODULE: Module = Module {
    name: "defaults",
    functions: &[
        Function::new(
            "defaults.deepcopy",
            "(source)",
            |call| Ok(call.arg("source").clone()),
            "A copy that shares nothing with its source.",
        ),
        Function::new(
            "defaults.get",
            "(key, default='')",
            get,
            "A value of the defaults.yaml or defaults.json of a formula: core:users:root\nis users:root of salt://core/defaults.yaml.",
        ),
        Function::new(
            "defaults.merge",
            "(dest, src, merge_lists=False, in_place=True, convert_none=True)",
            merge,
            "A map laid over another one, which is changed unless in_place is off.",
        ),
        Function::new(
            "defaults.update",
            "(dest, defaults, merge_lists=True, in_place=True, convert_none=True)",
            update,
            "Every map of a map of maps laid over the same defaults.",
        ),
    ],
};

fn get(call: &Call<'_>) -> CallResult {
    let key = call.text("key");
    let (formula, rest) = match key.split_once(':') {
        Some((formula, rest)) => (formula, Some(rest).filter(|rest| !rest.is_empty())),
        None => (key.as_str(), None),
    };
    let defaults = load(call, formula)?;
    let Some(rest) = rest else {
        return Ok(defaults);
    };
    let found = defaults
        .as_map()
        .and_then(|map| python::traverse_map(map, rest, ":"));
    Ok(found.unwrap_or_else(|| call.arg("default")).clone())
}

/// The first defaults file that a formula has.
fn load(call: &Call<'_>, formula: &str) -> CallResult {
    for kind in ["yaml", "json"] {
        let url = format!("salt://{formula}/defaults.{kind}");
        let cached = call.salt("cp.cache_file", &[url.as_str().into()], Map::new())?;
        let Some(bytes) = cached.as_str().and_then(|path| paths::read(path).ok()) else {
            continue;
        };
        let data = if kind == "yaml" {
            halite_yaml::load_bytes(&bytes, &url)
                .map(halite_yaml::Node::into_value)
                .map_err(|error| CallError::exception("yaml.YAMLError", error.python_text()))?
        } else {
            let text = String::from_utf8_lossy(&bytes);
            json::read(&text).map_err(|error| {
                CallError::exception("json.decoder.JSONDecodeError", error.to_string())
            })?
        };
        return Ok(if data.is_true() {
            data
        } else {
            Map::new().into()
        });
    }
    Ok(Value::Nil)
}

/// What `None` stands for where it may stand for a map.
fn or_empty(call: &Call<'_>, value: &Value) -> Value {
    if value.is_nil() && call.flag("convert_none") {
        Map::new().into()
    } else {
        value.clone()
    }
}

fn merge(call: &Call<'_>) -> CallResult {
    let dest = call.arg("dest");
    if dest.is_nil() && call.flag("in_place") && call.flag("convert_none") {
        return Err(CallError::wrong_type(
            "Can't perform in-place merge into NoneType",
        ));
    }
    laid_over(
        or_empty(call, dest),
        &or_empty(call, call.arg("src")),
        call.flag("merge_lists"),
    )
}

fn laid_over(under: Value, over: &Value, merge_lists: bool) -> CallResult {
    match (under, over) {
        (Value::Map(mut under), Value::Map(over)) => {
            dicts::update(&mut under, over, merge_lists);
            Ok(under.into())
        }
        _ => Err(CallError::wrong_type(
            "Cannot update using non-dict types in dictupdate.update()",
        )),
    }
}

fn update(call: &Call<'_>) -> CallResult {
    let dest = call.arg("dest");
    if dest.is_nil() && call.flag("in_place") {
        return Err(CallError::wrong_type(
            "Can't perform in-place update into NoneType",
        ));
    }
    let Value::Map(mut nodes) = or_empty(call, dest) else {
        let kind = dest.type_name();
        return Err(CallError::exception(
            "AttributeError",
            format!("'{kind}' object has no attribute 'items'"),
        ));
    };
    let defaults = or_empty(call, call.arg("defaults"));
    for (_, node) in nodes.iter_mut() {
        let over = or_empty(call, node);
        *node = laid_over(defaults.clone(), &over, call.flag("merge_lists"))?;
    }
    Ok(nodes.into())
}
