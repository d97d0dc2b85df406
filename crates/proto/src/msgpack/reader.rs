//! Builds values.
//!
//! Invariant: a length in a header counts only as far as bytes follow it; nothing
//! is allocated for the rest.

use super::decode::Reading;
use super::error::UnpackError;
use super::heads::{Head, Heads};
use crate::limits::Limits;
use crate::{Map, Value};

/// Reads one value after the other.
pub(super) struct Reader<'a> {
    heads: Heads<'a>,
    limits: &'a Limits,
    items: usize,
    /// Lists and maps that are not complete, the innermost last: nesting takes
    /// room here and not on the thread's stack.
    open: Vec<Open>,
}

/// A list or a map of which some parts were read.
enum Open {
    List {
        items: Vec<Value>,
        left: usize,
    },
    Map {
        map: Map,
        key: Option<Value>,
        left: usize,
    },
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], reading: Reading, limits: &'a Limits) -> Self {
        Self {
            heads: Heads::new(bytes, reading),
            limits,
            items: 0,
            open: Vec::new(),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value, UnpackError> {
        loop {
            let start = self.heads.at();
            let whole = match self.heads.head()? {
                Head::List(left) => {
                    self.enter(start, left, 1, "list")?;
                    let items = Vec::with_capacity(left.min(PREALLOCATED_MAX));
                    if left > 0 {
                        self.open.push(Open::List { items, left });
                        continue;
                    }
                    Value::List(items)
                }
                Head::Map(left) => {
                    self.enter(start, left, 2, "dict")?;
                    let map = Map::with_capacity(left.min(PREALLOCATED_MAX));
                    if left > 0 {
                        let key = None;
                        self.open.push(Open::Map { map, key, left });
                        continue;
                    }
                    Value::Map(map)
                }
                flat => flat.into_value(),
            };
            if let Some(value) = self.attach(whole) {
                return Ok(value);
            }
        }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.heads.left()
    }

    /// Puts a value where it belongs; gives the outermost one once it is whole.
    fn attach(&mut self, mut value: Value) -> Option<Value> {
        loop {
            value = match self.open.last_mut() {
                None => return Some(value),
                Some(Open::List { items, left }) => {
                    items.push(value);
                    *left -= 1;
                    if *left > 0 {
                        return None;
                    }
                    Value::List(std::mem::take(items))
                }
                Some(Open::Map { map, key, left }) => {
                    let Some(key) = key.take() else {
                        *key = Some(value);
                        return None;
                    };
                    map.insert(key, value);
                    *left -= 1;
                    if *left > 0 {
                        return None;
                    }
                    Value::Map(std::mem::take(map))
                }
            };
            self.open.pop();
        }
    }

    /// Checks what a list or map of `len` parts of `width` values may not be.
    fn enter(
        &mut self,
        start: usize,
        len: usize,
        width: usize,
        kind: &'static str,
    ) -> Result<(), UnpackError> {
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return Err(UnpackError::BadKey { at: start, kind });
        }
        if self.open.len() >= self.limits.depth_max {
            return Err(UnpackError::TooDeep {
                at: start,
                max: self.limits.depth_max,
            });
        }
        // Each value has at least one byte: a length that no bytes follow for
        // is a message that was cut.
        let values = len.saturating_mul(width);
        if values > self.heads.left() {
            return Err(self.heads.truncated());
        }
        self.items = self.items.saturating_add(values);
        if self.items > self.limits.items_max {
            return Err(UnpackError::TooManyItems {
                at: start,
                max: self.limits.items_max,
            });
        }
        Ok(())
    }
}

/// Most parts that a list or map gets room for before they are read: a header
/// may announce more than will follow.
const PREALLOCATED_MAX: usize = 1024;
