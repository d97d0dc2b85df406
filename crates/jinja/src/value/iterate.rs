//! Iterating over a value, and its length. Generators yield their items once.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Mapping, Object, Other, OtherKind, Set, Value, ViewKind, to_usize};
use crate::error::{Error, Result};

/// A generator: computed at once, gone through once.
pub(crate) struct Iter {
    name: &'static str,
    items: RefCell<VecDeque<Value>>,
}

impl Iter {
    pub(crate) fn new(name: &'static str, items: Vec<Value>) -> Self {
        Self {
            name,
            items: RefCell::new(items.into()),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn next(&self) -> Option<Value> {
        self.items.borrow_mut().pop_front()
    }
}

/// The items of a value; an error if it has none.
pub(crate) fn iterate(value: &Value) -> Result<Vec<Value>> {
    Ok(match value {
        Value::Str(text) => text.chars().map(char_value).collect(),
        Value::Markup(text) => text.chars().map(|c| Value::markup(c.to_string())).collect(),
        Value::Bytes(bytes) => bytes
            .iter()
            .map(|byte| Value::Int((*byte).into()))
            .collect(),
        Value::List(list) => list.0.0.borrow().clone(),
        Value::Tuple(tuple) => tuple.0.0.clone(),
        Value::Dict(Mapping(cell)) | Value::Set(Set(cell)) => cell.0.borrow().keys(),
        Value::Other(Other(kind)) => match kind {
            OtherKind::Undefined(undefined) => {
                undefined.used()?;
                Vec::new()
            }
            OtherKind::View(cell, ViewKind::Keys) => cell.0.borrow().keys(),
            OtherKind::View(cell, ViewKind::Values) => cell.0.borrow().values(),
            OtherKind::View(cell, ViewKind::Items) => cell.0.borrow().items(),
            OtherKind::Range(range) => (0..range.len())
                .filter_map(|index| range.get(index))
                .map(Value::Int)
                .collect(),
            OtherKind::Iter(iter) => iter.items.take().into(),
            OtherKind::Object(object) => match &**object {
                Object::Group(grouper, items) => vec![grouper.clone(), items.clone()],
                _ => return Err(not_iterable(value)),
            },
        },
        _ => return Err(not_iterable(value)),
    })
}

pub(crate) fn char_value(c: char) -> Value {
    Value::str(&*c.encode_utf8(&mut [0; 4]))
}

fn not_iterable(value: &Value) -> Error {
    Error::of_type(format!("'{}' object is not iterable", value.type_name()))
}

/// Python's `len`.
pub(crate) fn length(value: &Value) -> Result<usize> {
    Ok(match value {
        Value::Str(text) | Value::Markup(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.0.0.borrow().len(),
        Value::Tuple(tuple) => tuple.0.0.len(),
        Value::Dict(Mapping(cell)) | Value::Set(Set(cell)) => cell.0.borrow().len(),
        Value::Other(Other(OtherKind::View(cell, _))) => cell.0.borrow().len(),
        Value::Other(Other(OtherKind::Range(range))) => to_usize(range.len()).unwrap_or_default(),
        Value::Other(Other(OtherKind::Undefined(undefined))) => {
            undefined.used()?;
            0
        }
        other => {
            return Err(Error::of_type(format!(
                "object of type '{}' has no len()",
                other.type_name()
            )));
        }
    })
}
