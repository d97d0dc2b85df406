//! `extend`: additions of other SLS, and of the `_in` requisites, to a declaration.

use halite_proto::{Map, Value};
use indexmap::IndexSet;

use super::find::{Values, find_name};
use super::{first, is_private};
use crate::keywords::is_requisite;
use crate::mistake::{About, Mistake};
use crate::text::ordered_str;

/// Lays `__extend__` over the declarations it names. With `strict` an id is
/// only meant if it has the state module.
pub fn reconcile_extend(high: &mut Map, strict: bool) -> Vec<Mistake> {
    let mut errors = Vec::new();
    let Some(extensions) = high.remove("__extend__") else {
        return errors;
    };
    let Value::List(extensions) = extensions else {
        return errors;
    };
    let mut values = None;
    for extension in extensions {
        let Value::Map(extension) = extension else {
            continue;
        };
        for (name, body) in extension {
            let Value::Map(body) = body else {
                continue;
            };
            if let Err(error) = extend(high, &mut values, strict, name, body) {
                errors.push(error);
            }
        }
    }
    errors
}

/// Keeps the first of equal extensions; an SLS that is included twice brings
/// its own twice.
pub fn remove_duplicate_extends(high: &mut Map) {
    let Some(Value::List(extensions)) = high.get_mut("__extend__") else {
        return;
    };
    let mut seen = IndexSet::new();
    for extension in std::mem::take(extensions) {
        if let Value::Map(extension) = extension {
            seen.extend(extension);
        }
    }
    extensions.extend(seen.into_iter().map(|entry| Value::Map(Map::from([entry]))));
}

fn extend(
    high: &mut Map,
    values: &mut Option<Values>,
    strict: bool,
    name: Value,
    body: Map,
) -> Result<(), Mistake> {
    let Some(state) = body.keys().find(|key| !is_private(key)) else {
        return Ok(());
    };
    let state = ordered_str(state);
    let target = high.get_value(&name);
    let id = if target.is_some_and(|target| target.get(&state).is_some()) {
        name
    } else {
        let values = values.get_or_insert_with(|| Values::new(high));
        let found = find_name(high, values, &name, &state, strict);
        match <[_; 1]>::try_from(found) {
            Ok([(id, _)]) => id,
            Err(_) => return Err(no_target(&name, &body)),
        }
    };
    if is_excluded(high, &body) {
        return Ok(());
    }
    // Names that extensions look for may have changed; requisites have none.
    if !only_requisites(&body) {
        *values = None;
    }
    let Some(Value::Map(target)) = entry(high, &id) else {
        return Ok(());
    };
    for (state, run) in body {
        if is_private(&state) {
            continue;
        }
        match entry(target, &state) {
            Some(Value::List(args)) => {
                let Value::List(run) = run else {
                    continue;
                };
                for arg in run {
                    extend_args(args, arg);
                }
            }
            Some(_) => {}
            None => {
                target.insert(state, run);
            }
        }
    }
    Ok(())
}

/// One argument of an extension: functions and arguments are replaced,
/// requisites joined, what is new is appended.
fn extend_args(args: &mut Vec<Value>, arg: Value) {
    let mut updated = false;
    for own in args.iter_mut() {
        match (&arg, &mut *own) {
            (Value::Str(_), Value::Str(_)) => {
                *own = arg.clone();
                updated = true;
            }
            (Value::Map(new), Value::Map(old)) => {
                let (Some((key, value)), Some((old_key, _))) = (first(new), first(old)) else {
                    continue;
                };
                if key == old_key {
                    updated = true;
                    if key.as_str().is_some_and(is_requisite) {
                        join(old, key, value);
                    } else {
                        *own = arg.clone();
                    }
                } else if key.as_str() == Some("name") && old_key.as_str() == Some("names") {
                    *own = arg.clone();
                }
            }
            _ => {}
        }
    }
    if !updated {
        args.push(arg);
    }
}

fn join(old: &mut Map, key: &Value, more: &Value) {
    if let (Some(Value::List(old)), Value::List(more)) = (entry(old, key), more) {
        old.extend(more.iter().cloned());
    }
}

fn only_requisites(body: &Map) -> bool {
    let states = body.iter().filter(|(key, _)| !is_private(key));
    let mut args = states.flat_map(|(_, run)| run.as_list().unwrap_or_default());
    args.all(|arg| {
        let key = arg.as_map().and_then(first).map(|(key, _)| key);
        key.and_then(Value::as_str).is_some_and(is_requisite)
    })
}

fn is_excluded(high: &Map, body: &Map) -> bool {
    let Some(sls) = body.get("__sls__") else {
        return false;
    };
    let excludes = high.get("__exclude__").and_then(Value::as_list);
    excludes.into_iter().flatten().any(|exclude| match exclude {
        Value::Map(map) => map.get("sls") == Some(sls),
        other => other == sls,
    })
}

fn no_target(id: &Value, body: &Map) -> Mistake {
    let part = |key| body.get(key).map_or_else(|| "base".to_owned(), ordered_str);
    let (name, env, sls) = (ordered_str(id), part("__env__"), part("__sls__"));
    let text = format!(
        "Cannot extend ID '{name}' in '{env}:{sls}'. It is not part of the high state.\n\
         This is likely due to a missing include statement or an incorrectly typed ID.\n\
         Ensure that a state with an ID of '{name}' is available\n\
         in environment '{env}' and to SLS '{sls}'"
    );
    Mistake::new(text).about(About::declared(body, ["extend".into(), id.clone()]))
}

/// The value under a key of any kind, to change.
pub(super) fn entry<'m>(map: &'m mut Map, key: &Value) -> Option<&'m mut Value> {
    match key {
        Value::Str(key) => map.get_mut(key),
        other => map
            .iter_mut()
            .find_map(|(key, value)| (key == other).then_some(value)),
    }
}
