//! Salt's filters that reach into nested data by a path of keys.

use super::{defined, only};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine, access, operators};
use crate::value::{
    self, Dict, Key, List, Mapping, Native, Tuple, Value, equal, iterate, to_usize,
};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "traverse" => traverse,
        "set_dict_key_value" => |_, args| change(args, Change::Set),
        "update_dict_key_value" => |_, args| change(args, Change::Update),
        "append_dict_key_value" => |_, args| change(args, Change::Append),
        "extend_dict_key_value" => |_, args| change(args, Change::Extend),
        "to_entries" => |_, args| {
            let value = only(args, "to_entries")?;
            defined(&value)?;
            let pairs = match &value {
                Value::Dict(Mapping(cell)) => cell.0.borrow().items(),
                other => iterate(other)?,
            };
            let mut entries = Vec::new();
            for pair in pairs {
                let [key, value]: [Value; 2] = iterate(&pair)?
                    .try_into()
                    .map_err(|_| Error::of_value("an entry is a key and a value"))?;
                entries.push(dict_of(vec![("key", key), ("value", value)]));
            }
            Ok(Value::list(entries))
        },
        "from_entries" => |_, args| {
            let value = only(args, "from_entries")?;
            defined(&value)?;
            let mut dict = Dict::new();
            for entry in iterate(&value)? {
                let Value::Dict(Mapping(cell)) = &entry else {
                    return Err(Error::of_type("an entry must be a map"));
                };
                let entry = cell.0.borrow();
                let pick =
                    |names: &[&str]| names.iter().find_map(|name| entry.get_str(name).cloned());
                let key = pick(&["key", "k", "name", "Name"]).unwrap_or(Value::None);
                let value = pick(&["value", "v", "Value"]).unwrap_or(Value::None);
                dict.insert(Key::new(key)?, value);
            }
            Ok(Value::dict(dict))
        },
        "compare_dicts" => compare_dicts,
        "compare_lists" => compare_lists,
        "method_call" => |machine, mut args| {
            if args.pos.len() < 2 {
                return Err(Error::of_type("method_call needs the name of a method"));
            }
            let value = args.pos.remove(0);
            let name = args.pos.remove(0);
            let method = access::attribute(machine, &value, name.want_str("the name")?)?;
            if method.as_undefined().is_some() {
                return Ok(Value::None);
            }
            machine.call(&method, args)
        },
        _ => return None,
    })
}

/// A map of entries.
fn dict_of(entries: Vec<(&str, Value)>) -> Value {
    let entries = entries
        .into_iter()
        .map(|(key, value)| (Key::text(key), value));
    Value::dict(entries.collect::<Dict>())
}

/// What is under one step of a path: a key, or an index of a list.
fn step(value: &Value, key: &str) -> Result<Option<Value>> {
    match value {
        Value::Dict(Mapping(cell)) => Ok(cell.0.borrow().get_str(key).cloned()),
        Value::List(List(cell)) => {
            let items = cell.0.borrow().clone();
            in_list(&items, key)
        }
        Value::Tuple(Tuple(cell)) => in_list(&cell.0, key),
        _ => Ok(None),
    }
}

fn in_list(items: &[Value], key: &str) -> Result<Option<Value>> {
    if let Ok(index) = key.parse::<i128>() {
        let length = i128::try_from(items.len()).unwrap_or(i128::MAX);
        let at = if index < 0 { index + length } else { index };
        return Ok(to_usize(at).and_then(|at| items.get(at).cloned()));
    }
    // Without an index, the first map in the list that has the key.
    for item in items {
        if let Value::Dict(_) = item
            && let Some(found) = step(item, key)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl Value {
    /// What the filter `traverse` does, as a function.
    pub fn traverse() -> Self {
        Self::object(value::Object::Function("traverse", traverse))
    }
}

fn traverse(machine: &Machine<'_>, args: Args) -> Result<Value> {
    let names = ["data", "key", "default", "delimiter"];
    let [data, key, default, delimiter] = args.bind("traverse_dict_and_list", names, 2)?;
    let mut found = data.unwrap_or(Value::None);
    defined(&found)?;
    let default = default.unwrap_or(Value::None);
    let delimiter = delimiter.unwrap_or_else(|| Value::str(":"));
    let delimiter = delimiter.want_str("delimiter")?;
    let key = key.unwrap_or(Value::None);
    let path: Vec<String> = match &key {
        Value::Str(path) | Value::Markup(path) if !delimiter.is_empty() => {
            path.split(delimiter).map(str::to_owned).collect()
        }
        Value::List(_) | Value::Tuple(_) => {
            let parts: Result<Vec<String>> = iterate(&key)?.iter().map(value::text).collect();
            parts?
        }
        other => vec![value::text(other)?],
    };
    for part in path {
        machine.step()?;
        match step(&found, &part)? {
            Some(next) => found = next,
            None => return Ok(default),
        }
    }
    Ok(found)
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Set,
    Update,
    Append,
    Extend,
}

fn change(args: Args, change: Change) -> Result<Value> {
    let names = ["in_dict", "keys", "value", "delimiter", "ordered_dict"];
    let [data, keys, given, delimiter, _] = args.bind("set_dict_key_value", names, 3)?;
    let data = data.unwrap_or(Value::None);
    defined(&data)?;
    let keys = value::text(&keys.unwrap_or(Value::None))?;
    let given = given.unwrap_or(Value::None);
    let delimiter = delimiter.unwrap_or_else(|| Value::str(":"));
    let delimiter = delimiter.want_str("delimiter")?;
    let mut path: Vec<&str> = keys.split(delimiter).collect();
    let last = path.pop().unwrap_or_default();
    let mut at = data.clone();
    for part in path {
        let Value::Dict(Mapping(cell)) = &at else {
            return Err(refused("the path leads through what is no map"));
        };
        let next = cell.0.borrow().get_str(part).cloned();
        let next = match next {
            Some(next) => next,
            None => {
                let fresh = Value::dict(Dict::new());
                cell.0.borrow_mut().set(part, fresh.clone());
                fresh
            }
        };
        at = next;
    }
    let Value::Dict(Mapping(cell)) = &at else {
        return Err(refused("the path leads through what is no map"));
    };
    let old = cell.0.borrow().get_str(last).cloned();
    match change {
        Change::Set => cell.0.borrow_mut().set(last, given),
        Change::Update => {
            let Value::Dict(Mapping(source)) = &given else {
                return Err(refused("the value to update with is no map"));
            };
            let entries: Vec<(Key, Value)> = source
                .0
                .borrow()
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let target = old.unwrap_or_else(|| Value::dict(Dict::new()));
            let Value::Dict(Mapping(inner)) = &target else {
                return Err(refused("what is to be updated is no map"));
            };
            for (key, value) in entries {
                inner.0.borrow_mut().insert(key, value);
            }
            cell.0.borrow_mut().set(last, target);
        }
        Change::Append | Change::Extend => {
            let more = if change == Change::Append {
                vec![given]
            } else {
                iterate(&given)?
            };
            let target = old.unwrap_or_else(|| Value::list(Vec::new()));
            let Value::List(List(inner)) = &target else {
                return Err(refused("what is to grow is no list"));
            };
            inner.0.borrow_mut().extend(more);
            cell.0.borrow_mut().set(last, target);
        }
    }
    Ok(data)
}

fn refused(message: &str) -> Error {
    Error::new(ErrorKind::Host, message)
}

fn compare_dicts(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [old, new] = args.bind("compare_dicts", ["old", "new"], 2)?;
    let (old, new) = (old.unwrap_or(Value::None), new.unwrap_or(Value::None));
    let (Value::Dict(Mapping(a)), Value::Dict(Mapping(b))) = (&old, &new) else {
        return Err(Error::of_type("compare_dicts takes two maps"));
    };
    let (a, b) = (a.0.borrow(), b.0.borrow());
    let mut out = Dict::new();
    let none = || Value::str("");
    for key in a.keys().into_iter().chain(b.keys()) {
        let key = Key::new(key)?;
        if out.contains(&key) {
            continue;
        }
        let (before, after) = (a.get(&key), b.get(&key));
        let same = match (before, after) {
            (Some(before), Some(after)) => equal(before, after)?,
            _ => false,
        };
        if !same {
            let before = before.cloned().unwrap_or_else(none);
            let after = after.cloned().unwrap_or_else(none);
            out.insert(key, dict_of(vec![("old", before), ("new", after)]));
        }
    }
    Ok(Value::dict(out))
}

fn compare_lists(_: &Machine<'_>, args: Args) -> Result<Value> {
    let [old, new] = args.bind("compare_lists", ["old", "new"], 2)?;
    let old = iterate(&old.unwrap_or(Value::None))?;
    let new = iterate(&new.unwrap_or(Value::None))?;
    let missing = |from: &[Value], other: &[Value]| -> Result<Vec<Value>> {
        let mut out = Vec::new();
        for item in from {
            if !operators::contains(&Value::list(other.to_vec()), item)? {
                out.push(item.clone());
            }
        }
        Ok(out)
    };
    let mut entries = Vec::new();
    for (name, items) in [("new", missing(&new, &old)?), ("old", missing(&old, &new)?)] {
        if !items.is_empty() {
            entries.push((name, Value::list(items)));
        }
    }
    Ok(dict_of(entries))
}
