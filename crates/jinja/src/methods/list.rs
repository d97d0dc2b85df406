//! The methods of lists, and those that tuples share.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::eval::{Args, Machine};
use crate::limits;
use crate::value::{ListCell, Value, equal, iterate, sort_by, to_usize};

pub(super) const NAMES: &[&str] = &[
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
    "sort",
];

fn one<'a>(pos: &'a [Value], name: &str) -> Result<&'a Value> {
    match pos {
        [only] => Ok(only),
        _ => Err(Error::of_type(format!(
            "list.{name}() takes exactly one argument ({} given)",
            pos.len()
        ))),
    }
}

pub(super) fn call(
    machine: &Machine<'_>,
    cell: &Rc<ListCell>,
    name: &str,
    args: Args,
) -> Result<Value> {
    if name == "sort" {
        return sort(machine, cell, args);
    }
    args.no_named(name)?;
    let pos = args.pos;
    match name {
        "append" => {
            let item = one(&pos, name)?.clone();
            room(cell, 1)?;
            cell.0.borrow_mut().push(item);
        }
        "extend" => {
            let items = iterate(one(&pos, name)?)?;
            room(cell, items.len())?;
            cell.0.borrow_mut().extend(items);
        }
        "insert" => {
            let [at, item] = pos.as_slice() else {
                return Err(Error::of_type(format!(
                    "insert expected 2 arguments, got {}",
                    pos.len()
                )));
            };
            room(cell, 1)?;
            let mut items = cell.0.borrow_mut();
            let at = place(at.want_int()?, items.len()).clamp(0, signed(items.len()));
            items.insert(to_usize(at).unwrap_or_default(), item.clone());
        }
        "pop" => {
            let at = pos.first().map_or(Ok(-1), Value::want_int)?;
            let mut items = cell.0.borrow_mut();
            if items.is_empty() {
                return Err(index_error("pop from empty list"));
            }
            let at = to_usize(place(at, items.len())).filter(|at| *at < items.len());
            let at = at.ok_or_else(|| index_error("pop index out of range"))?;
            return Ok(items.remove(at));
        }
        "remove" => {
            let wanted = one(&pos, name)?;
            let at = find(&cell.0.borrow(), wanted)?;
            let at = at.ok_or_else(|| Error::of_value("list.remove(x): x not in list"))?;
            let removed = cell.0.borrow_mut().remove(at);
            drop(removed);
        }
        "clear" => drop(cell.0.take()),
        "reverse" => cell.0.borrow_mut().reverse(),
        "copy" => return Ok(Value::list(cell.0.borrow().clone())),
        _ => {
            let items = cell.0.borrow().clone();
            return search(&items, name, &pos, "list");
        }
    }
    Ok(Value::None)
}

/// Sorts in place; the list is empty while a key is computed, as in Python.
fn sort(machine: &Machine<'_>, cell: &Rc<ListCell>, mut args: Args) -> Result<Value> {
    let reverse = args
        .take_named("reverse")
        .map_or(Ok(false), |value| value.is_true())?;
    let key = args.take_named("key").filter(|key| !key.is_none());
    args.no_named("sort")?;
    let mut items = cell.0.take();
    let result = sort_by(&mut items, reverse, |item| match &key {
        Some(key) => machine.call(key, Args::positional(vec![item.clone()])),
        None => Ok(item.clone()),
    });
    *cell.0.borrow_mut() = items;
    result.map(|()| Value::None)
}

/// `count` and `index` of tuples, ranges and views.
pub(super) fn sequence(value: &Value, name: &str, args: Args) -> Result<Value> {
    args.no_named(name)?;
    let items = iterate(value)?;
    if name == "isdisjoint" {
        for item in iterate(one(&args.pos, name)?)? {
            if find(&items, &item)?.is_some() {
                return Ok(Value::Bool(false));
            }
        }
        return Ok(Value::Bool(true));
    }
    search(&items, name, &args.pos, value.type_name())
}

fn search(items: &[Value], name: &str, pos: &[Value], kind: &str) -> Result<Value> {
    let Some(wanted) = pos.first() else {
        return Err(Error::of_type(format!(
            "{name} expected at least 1 argument, got 0"
        )));
    };
    if name == "count" {
        let mut count = 0;
        for item in items {
            count += usize::from(item.same(wanted) || equal(item, wanted)?);
        }
        return Ok(Value::int_of(count));
    }
    if name != "index" {
        return Err(super::unknown(name));
    }
    let bound = |at: usize, default: usize| -> Result<usize> {
        let Some(value) = pos.get(at) else {
            return Ok(default);
        };
        let at = place(value.want_int()?, items.len()).max(0);
        Ok(to_usize(at).unwrap_or(usize::MAX).min(items.len()))
    };
    let (start, stop) = (bound(1, 0)?, bound(2, items.len())?);
    let part = items.get(start..stop.max(start)).unwrap_or_default();
    match find(part, wanted)? {
        Some(at) => Ok(Value::int_of(at + start)),
        None if kind == "tuple" => Err(Error::of_value("tuple.index(x): x not in tuple")),
        None => {
            let shown = crate::value::repr(wanted)?;
            Err(Error::of_value(format!("{shown} is not in {kind}")))
        }
    }
}

fn find(items: &[Value], wanted: &Value) -> Result<Option<usize>> {
    for (at, item) in items.iter().enumerate() {
        if item.same(wanted) || equal(item, wanted)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn room(cell: &ListCell, more: usize) -> Result<()> {
    if cell.0.borrow().len() + more > limits::ITEMS_MAX {
        return Err(Error::limit("a list has too many items"));
    }
    Ok(())
}

fn signed(length: usize) -> i128 {
    i128::try_from(length).unwrap_or(i128::MAX)
}

fn place(at: i128, length: usize) -> i128 {
    if at < 0 { at + signed(length) } else { at }
}

fn index_error(message: &str) -> Error {
    Error::new(crate::error::ErrorKind::Index, message)
}
