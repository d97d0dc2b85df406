//! Equality, order and sorting as Python has them.

use std::cmp::Ordering;

use super::{Mapping, Other, OtherKind, Set, Value, ViewKind, iterate};
use crate::error::{Error, Result};
use crate::limits;
use crate::walk;

/// Python's `==`; an error for what is undefined.
pub(crate) fn equal(a: &Value, b: &Value) -> Result<bool> {
    equal_at(a, b, 0)
}

fn equal_at(a: &Value, b: &Value, depth: u32) -> Result<bool> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit(
            "data is nested too deeply to compare, or holds itself",
        ));
    }
    walk::see(0)?;
    for value in [a, b] {
        if let Some(undefined) = value.as_undefined() {
            undefined.used()?;
            return Ok(a.as_undefined().is_some() && b.as_undefined().is_some());
        }
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(a == b);
    }
    if let Some(ordering) = numbers(a, b) {
        return Ok(ordering == Some(Ordering::Equal));
    }
    Ok(match (a, b) {
        (Value::None, Value::None) => true,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(x), Value::List(y)) => {
            if a.same(b) {
                return Ok(true);
            }
            sequences(&x.0.0.borrow(), &y.0.0.borrow(), depth)?
        }
        (Value::Tuple(a), Value::Tuple(b)) => sequences(&a.0.0, &b.0.0, depth)?,
        (Value::Dict(Mapping(x)), Value::Dict(Mapping(y))) => {
            if a.same(b) {
                return Ok(true);
            }
            let (x, y) = (x.0.borrow(), y.0.borrow());
            if x.len() != y.len() {
                return Ok(false);
            }
            for (key, value) in x.iter() {
                match y.get(key) {
                    Some(other) if equal_at(value, other, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => match (keys_of(a), keys_of(b)) {
            (Some(a), Some(b)) => a.len() == b.len() && subset(&a, &b)?,
            _ => match (a, b) {
                (
                    Value::Other(Other(OtherKind::Range(_))),
                    Value::Other(Other(OtherKind::Range(_))),
                ) => sequences(&iterate(a)?, &iterate(b)?, depth)?,
                _ => a.same(b),
            },
        },
    })
}

/// The members of a set, or of a view that is one.
pub(crate) fn keys_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Set(Set(cell)) => Some(cell.0.borrow().keys()),
        Value::Other(Other(OtherKind::View(cell, ViewKind::Keys))) => Some(cell.0.borrow().keys()),
        Value::Other(Other(OtherKind::View(cell, ViewKind::Items))) => {
            Some(cell.0.borrow().items())
        }
        _ => None,
    }
}

fn subset(a: &[Value], b: &[Value]) -> Result<bool> {
    for item in a {
        let mut found = false;
        for other in b {
            if equal(item, other)? {
                found = true;
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn sequences(a: &[Value], b: &[Value], depth: u32) -> Result<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b) {
        if !a.same(b) && !equal_at(a, b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The order of two numbers; `None` if one of them is no number, an inner
/// `None` for what is not a number.
fn numbers(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
        return Some(Some(a.cmp(&b)));
    }
    let (x, y) = (a.as_float()?, b.as_float()?);
    Some(x.partial_cmp(&y))
}

/// Python's order of two values; an error where they have none.
pub(crate) fn order(a: &Value, b: &Value, symbol: &str) -> Result<Option<Ordering>> {
    order_at(a, b, symbol, 0)
}

fn order_at(a: &Value, b: &Value, symbol: &str, depth: u32) -> Result<Option<Ordering>> {
    if depth >= limits::NESTING_MAX {
        return Err(Error::limit("data is nested too deeply to compare"));
    }
    walk::see(0)?;
    for value in [a, b] {
        if let Some(undefined) = value.as_undefined() {
            return Err(undefined.error());
        }
    }
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        return Ok(Some(a.cmp(b)));
    }
    if let Some(ordering) = numbers(a, b) {
        return Ok(ordering);
    }
    match (a, b) {
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(a.cmp(b))),
        (Value::List(x), Value::List(y)) => {
            if a.same(b) {
                return Ok(Some(Ordering::Equal));
            }
            sequence_order(&x.0.0.borrow(), &y.0.0.borrow(), symbol, depth)
        }
        (Value::Tuple(a), Value::Tuple(b)) => sequence_order(&a.0.0, &b.0.0, symbol, depth),
        _ => Err(Error::of_type(format!(
            "'{symbol}' not supported between instances of '{}' and '{}'",
            a.type_name(),
            b.type_name()
        ))),
    }
}

fn sequence_order(a: &[Value], b: &[Value], symbol: &str, depth: u32) -> Result<Option<Ordering>> {
    for (a, b) in a.iter().zip(b) {
        if !a.same(b) && !equal_at(a, b, depth + 1)? {
            return order_at(a, b, symbol, depth + 1);
        }
    }
    Ok(Some(a.len().cmp(&b.len())))
}

/// Python's `a < b`.
pub(crate) fn less(a: &Value, b: &Value) -> Result<bool> {
    Ok(order(a, b, "<")? == Some(Ordering::Less))
}

/// Sorts by a key, stably; equal ones keep their order in reverse as well.
pub(crate) fn sort_by(
    items: &mut Vec<Value>,
    reverse: bool,
    mut key: impl FnMut(&Value) -> Result<Value>,
) -> Result<()> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        keyed.push((key(&item)?, item));
    }
    let mut failed = None;
    if reverse {
        keyed.reverse();
    }
    keyed.sort_by(|(a, _), (b, _)| match order(a, b, "<") {
        Ok(ordering) => ordering.unwrap_or(Ordering::Equal),
        Err(error) => {
            failed.get_or_insert(error);
            Ordering::Equal
        }
    });
    if reverse {
        keyed.reverse();
    }
    items.extend(keyed.into_iter().map(|(_, item)| item));
    failed.map_or(Ok(()), Err)
}

/// Subset and superset tests of sets; `None` if one of them is no set.
pub(crate) fn set_order(a: &Value, b: &Value) -> Result<Option<(bool, bool)>> {
    match (keys_of(a), keys_of(b)) {
        (Some(a), Some(b)) => Ok(Some((subset(&a, &b)?, subset(&b, &a)?))),
        _ => Ok(None),
    }
}
