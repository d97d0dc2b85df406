//! The methods of sets.

use std::rc::Rc;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::Args;
use crate::value::{DictCell, Key, Value, iterate, repr};

pub(super) const NAMES: &[&str] = &[
    "add",
    "clear",
    "copy",
    "difference",
    "discard",
    "intersection",
    "isdisjoint",
    "issubset",
    "issuperset",
    "pop",
    "remove",
    "symmetric_difference",
    "union",
    "update",
];

fn keys(value: &Value) -> Result<Vec<Key>> {
    iterate(value)?.into_iter().map(Key::new).collect()
}

pub(super) fn call(cell: &Rc<DictCell>, name: &str, args: Args) -> Result<Value> {
    args.no_named(name)?;
    let mine: Vec<Key> = cell.0.borrow().iter().map(|(key, _)| key.clone()).collect();
    let first = args
        .pos
        .first()
        .cloned()
        .unwrap_or_else(|| Value::list(Vec::new()));
    Ok(match name {
        "add" => {
            cell.0.borrow_mut().insert(Key::new(first)?, Value::None);
            Value::None
        }
        "update" => {
            for value in &args.pos {
                for key in keys(value)? {
                    cell.0.borrow_mut().insert(key, Value::None);
                }
            }
            Value::None
        }
        "discard" | "remove" => {
            let key = Key::new(first)?;
            let removed = cell.0.borrow_mut().remove(&key);
            if removed.is_none() && name == "remove" {
                return Err(Error::new(ErrorKind::Key, repr(key.value())?));
            }
            Value::None
        }
        "clear" => {
            cell.0.borrow_mut().clear();
            Value::None
        }
        "pop" => {
            let last = cell.0.borrow_mut().pop_last();
            let Some((key, _)) = last else {
                return Err(Error::new(ErrorKind::Key, "'pop from an empty set'"));
            };
            key.into_value()
        }
        "copy" => Value::set(mine),
        "union" | "difference" | "intersection" | "symmetric_difference" => {
            Value::set(combined(name, mine, &args.pos)?)
        }
        "isdisjoint" | "issubset" | "issuperset" => {
            let other = keys(&first)?;
            Value::Bool(match name {
                "isdisjoint" => !mine.iter().any(|key| other.contains(key)),
                "issubset" => mine.iter().all(|key| other.contains(key)),
                _ => other.iter().all(|key| mine.contains(key)),
            })
        }
        _ => return Err(super::unknown(name)),
    })
}

/// The keys of a new set, made of this one's and others.
fn combined(name: &str, mine: Vec<Key>, others: &[Value]) -> Result<Vec<Key>> {
    if name == "union" {
        let mut all = mine;
        for value in others {
            all.extend(keys(value)?);
        }
        return Ok(all);
    }
    let other = others.first().map(keys).transpose()?.unwrap_or_default();
    let is_shared = |key: &Key| other.contains(key);
    Ok(match name {
        "difference" => mine.into_iter().filter(|key| !is_shared(key)).collect(),
        "intersection" => mine.into_iter().filter(is_shared).collect(),
        _ => {
            let extra: Vec<Key> = other
                .iter()
                .filter(|key| !mine.contains(key))
                .cloned()
                .collect();
            let kept = mine.into_iter().filter(|key| !is_shared(key));
            kept.chain(extra).collect()
        }
    })
}
