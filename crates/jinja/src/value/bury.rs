//! The cells of shared values, and how they end: without recursion, since a
//! template can build a list inside a list a hundred thousand times.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Dict, Mapping, Set, Value};

/// The cell of a list.
pub(crate) struct ListCell(pub(crate) RefCell<Vec<Value>>);
/// The cell of a map or a set.
pub(crate) struct DictCell(pub(crate) RefCell<Dict>);
/// The items of a tuple.
pub(crate) struct TupleCell(pub(crate) Vec<Value>);

impl Drop for ListCell {
    fn drop(&mut self) {
        bury(std::mem::take(self.0.get_mut()));
    }
}

impl Drop for TupleCell {
    fn drop(&mut self) {
        bury(std::mem::take(&mut self.0));
    }
}

impl Drop for DictCell {
    fn drop(&mut self) {
        let values = self.0.get_mut().take_values();
        bury(values);
    }
}

/// Drops values; what only they hold is drained first.
fn bury(mut values: Vec<Value>) {
    while let Some(value) = values.pop() {
        match value {
            Value::List(mut list) => {
                if let Some(cell) = Rc::get_mut(&mut list.0) {
                    values.append(cell.0.get_mut());
                }
            }
            Value::Tuple(mut tuple) => {
                if let Some(cell) = Rc::get_mut(&mut tuple.0) {
                    values.append(&mut cell.0);
                }
            }
            Value::Dict(Mapping(mut cell)) | Value::Set(Set(mut cell)) => {
                if let Some(cell) = Rc::get_mut(&mut cell) {
                    values.append(&mut cell.0.get_mut().take_values());
                }
            }
            _ => {}
        }
    }
}
