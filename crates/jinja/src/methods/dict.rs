//! The methods of maps.

use std::rc::Rc;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::value::{Dict, DictCell, Key, Mapping, OtherKind, Value, ViewKind, iterate, repr};

/// Those of Python 2 are refused where Python 3 refuses them.
pub(super) const NAMES: &[&str] = &[
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

pub(super) fn call(
    machine: &Machine<'_>,
    cell: &Rc<DictCell>,
    name: &str,
    args: Args,
) -> Result<Value> {
    if name == "update" {
        return update(machine, cell, args);
    }
    args.no_named(name)?;
    let pos = args.pos;
    let most = match name {
        "get" | "pop" | "setdefault" | "fromkeys" => 2,
        _ => 0,
    };
    if pos.len() > most {
        return Err(Error::of_type(format!(
            "{name} expected at most {most} arguments, got {}",
            pos.len()
        )));
    }
    let key = || match pos.first() {
        Some(value) => Key::new(value.clone()),
        None => Err(Error::of_type(format!(
            "{name} expected at least 1 argument, got 0"
        ))),
    };
    let default = || pos.get(1).cloned();
    let view = |kind| Value::other(OtherKind::View(Rc::clone(cell), kind));
    Ok(match name {
        "get" => {
            let found = cell.0.borrow().get(&key()?).cloned();
            found.or_else(default).unwrap_or(Value::None)
        }
        "items" => view(ViewKind::Items),
        "keys" => view(ViewKind::Keys),
        "values" => view(ViewKind::Values),
        "pop" => {
            let key = key()?;
            let found = cell.0.borrow_mut().remove(&key);
            match found.or_else(default) {
                Some(value) => value,
                None => return Err(Error::new(ErrorKind::Key, repr(key.value())?)),
            }
        }
        "setdefault" => set_default(cell, key()?, default().unwrap_or(Value::None)),
        "copy" => {
            let copy = cell.0.borrow().clone();
            Value::dict(copy)
        }
        "clear" => {
            let old = std::mem::take(&mut *cell.0.borrow_mut());
            drop(old);
            Value::None
        }
        "popitem" => pop_item(cell)?,
        "fromkeys" => {
            let mut dict = Dict::new();
            for key in iterate(pos.first().unwrap_or(&Value::None))? {
                dict.insert(Key::new(key)?, default().unwrap_or(Value::None));
            }
            Value::dict(dict)
        }
        _ => return Err(super::unknown(name)),
    })
}

/// The value of a key, which has the default from now on if it had none.
fn set_default(cell: &DictCell, key: Key, default: Value) -> Value {
    let mut dict = cell.0.borrow_mut();
    if let Some(value) = dict.get(&key) {
        return value.clone();
    }
    dict.insert(key, default.clone());
    default
}

fn pop_item(cell: &DictCell) -> Result<Value> {
    let last = cell.0.borrow_mut().pop_last();
    let Some((key, value)) = last else {
        let message = "'popitem(): dictionary is empty'";
        return Err(Error::new(ErrorKind::Key, message));
    };
    Ok(Value::tuple(vec![key.into_value(), value]))
}

fn update(machine: &Machine<'_>, cell: &Rc<DictCell>, args: Args) -> Result<Value> {
    if args.pos.len() > 1 {
        return Err(Error::of_type(format!(
            "update expected at most 1 argument, got {}",
            args.pos.len()
        )));
    }
    let mut entries = Vec::new();
    if let Some(source) = args.pos.first() {
        entries = pairs(source)?;
    }
    for (name, value) in args.named {
        entries.push((Key::text(name), value));
    }
    machine.steps_taken(entries.len() as u64)?;
    for (key, value) in entries {
        let old = cell.0.borrow_mut().insert(key, value);
        drop(old);
    }
    Ok(Value::None)
}

/// The entries that `dict` and `update` take: a map, or pairs.
pub(crate) fn pairs(source: &Value) -> Result<Vec<(Key, Value)>> {
    if let Value::Dict(Mapping(cell)) = source {
        let dict = cell.0.borrow();
        return Ok(dict
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect());
    }
    let mut out = Vec::new();
    for (index, item) in iterate(source)?.iter().enumerate() {
        let pair = iterate(item).map_err(|error| match error.kind() {
            ErrorKind::Type => Error::of_type(format!(
                "cannot convert dictionary update sequence element #{index} to a sequence"
            )),
            _ => error,
        })?;
        let [key, value] = pair.as_slice() else {
            return Err(Error::of_value(format!(
                "dictionary update sequence element #{index} has length {}; 2 is required",
                pair.len()
            )));
        };
        out.push((Key::new(key.clone())?, value.clone()));
    }
    Ok(out)
}
