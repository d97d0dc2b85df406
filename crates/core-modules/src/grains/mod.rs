//! `grains.*`: the core grains of the minion, and those that people set.

mod lists;
mod set;
mod store;

use halite_proto::{Map, Value};

use halite_call::{
    Call, CallError, CallResult, Function, Module,
    dicts::{self, Choice},
    python,
};

pub(super) const MODULE: Module = Module {
    name: "grains",
    functions: &[
        Function::new("grains.append", "(key, val, convert=False, delimiter=':')", lists::append, "Adds a value to a list of the static grains; convert makes a list of what\nis none."),
        Function::new("grains.delkey", "(key, force=False)", set::delkey, "Removes a static grain; with force also one that is a map or list."),
        Function::new("grains.delval", "(key, destructive=False, force=False)", set::delval, "Sets a static grain to None, or with destructive removes it."),
        Function::new("grains.equals", "(key, value)", equals, "Whether a grain, written as text, equals a value."),
        Function::new("grains.fetch", "(key, default='', delimiter=':', ordered=True)", get, "The same as grains.get."),
        Function::new("grains.filter_by", "(lookup_dict, grain='os_family', merge=None, default='default', base=None)", filter_by, "Picks the entry of a map whose key matches a grain, over the entry `base`,\nunder `merge`; the entry `default` where none matches."),
        Function::new("grains.get", "(key, default='', delimiter=':', ordered=True)", get, "The value of a grain; `a:b` is within the map or list `a`."),
        Function::new("grains.has_value", "(key)", has_value, "Whether a grain is there."),
        Function::new("grains.item", "(*args, **kwargs)", item, "The values of several grains; sanitize=True hides what tells machines apart.").nested(),
        Function::new("grains.items", "(sanitize=False)", items, "All grains; sanitize=True hides what tells machines apart.").nested(),
        Function::new("grains.ls", "()", ls, "The names of all grains."),
        Function::new("grains.remove", "(key, val, delimiter=':')", lists::remove, "Takes a value out of a list of the static grains."),
        Function::new("grains.set", "(key, val='', force=False, destructive=False, delimiter=':')", set::set, "Sets a static grain, also within maps (`a:b`); with force over a value of\nanother kind."),
        Function::new("grains.setval", "(key, val, destructive=False, refresh_pillar=True)", store::setval, "Sets a static grain, to be found in the file `grains` beside the\nconfiguration; with destructive, None removes it.").nested(),
        Function::new("grains.setvals", "(grains, destructive=False, refresh_pillar=True)", store::setvals, "Sets several static grains at once."),
    ],
};

fn get(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    let found = python::traverse_map(&grains, &call.text("key"), &call.text("delimiter"));
    Ok(found.unwrap_or_else(|| call.arg("default")).clone())
}

fn has_value(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    Ok(python::traverse_map(&grains, &call.text("key"), ":")
        .is_some()
        .into())
}

fn equals(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    let value = python::traverse_map(&grains, &call.text("key"), ":")
        .map(python::str)
        .unwrap_or_default();
    Ok((value == call.text("value")).into())
}

fn item(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    let kwargs = call.kwargs();
    let default = kwargs.get("default").cloned().unwrap_or_else(|| "".into());
    let delimiter = kwargs
        .get("delimiter")
        .map_or_else(|| ":".to_owned(), python::str);
    let mut found = Map::new();
    for key in call.varargs() {
        let value = python::traverse_map(&grains, &python::str(key), &delimiter);
        found.insert(key.clone(), value.unwrap_or(&default).clone());
    }
    if kwargs.get("sanitize").is_some_and(Value::is_true) {
        sanitize(&mut found);
    }
    Ok(found.into())
}

fn items(call: &Call<'_>) -> CallResult {
    let mut grains = Map::clone(&call.ctx.grains());
    if call.flag("sanitize") {
        sanitize(&mut grains);
    }
    Ok(grains.into())
}

/// Hides what tells one machine from another.
fn sanitize(grains: &mut Map) {
    for (name, value) in [
        ("domain", "DOMAINNAME"),
        ("fqdn", "MINION.DOMAINNAME"),
        ("host", "MINION"),
        ("id", "MINION.DOMAINNAME"),
        ("localhost", "MINION"),
        ("nodename", "MINION"),
    ] {
        if grains.contains_key(name) {
            grains.insert(name, value);
        }
    }
    if let Some(serial) = grains.get("serialnumber").map(python::str) {
        let length = serial.chars().count();
        let kept = length * 3 / 4;
        let mut hidden: String = serial.chars().take(kept).collect();
        hidden.extend(std::iter::repeat_n('X', length - kept));
        grains.insert("serialnumber", hidden);
    }
}

fn ls(call: &Call<'_>) -> CallResult {
    let grains = call.ctx.grains();
    let mut names: Vec<&str> = grains.keys().filter_map(Value::as_str).collect();
    names.sort_unstable();
    Ok(names
        .into_iter()
        .map(Value::from)
        .collect::<Vec<_>>()
        .into())
}

fn filter_by(call: &Call<'_>) -> CallResult {
    let lookup = map_argument(call, "lookup_dict")?;
    let choice = Choice {
        default: call.arg("default"),
        base: Some(call.arg("base")).filter(|base| base.is_true()),
        merge: call.arg("merge"),
        merge_lists: false,
    };
    dicts::filter_by(lookup, &call.ctx.grains(), &call.text("grain"), &choice)
}

/// A parameter that must be a map.
pub(crate) fn map_argument<'c>(call: &'c Call<'_>, name: &str) -> Result<&'c Map, CallError> {
    let value = call.arg(name);
    value.as_map().ok_or_else(|| {
        CallError::wrong_type(format!(
            "{name} must be a dict, not '{}'",
            value.type_name()
        ))
    })
}
