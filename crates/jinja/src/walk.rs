//! How much of its data a render may walk through: a list may hold another one a
//! hundred thousand times, and that one the next. Such data takes no memory, but
//! printing, comparing or converting it would take for ever.
//!
//! Invariant: every recursive walk through lists and maps counts each value here,
//! so that a render ends.

use std::cell::Cell;

use crate::error::{Error, Result};
use crate::limits::WALK_BYTES_PER_VALUE;

thread_local! {
    /// What is left of the walks of the render on this thread.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// A render on this thread. One within another has no walks of its own.
pub(crate) struct Walks {
    is_outermost: bool,
}

impl Walks {
    /// A render begins that may see so many values.
    pub(crate) fn begin(values_max: u64) -> Self {
        let is_outermost = LEFT.get().is_none();
        if is_outermost {
            LEFT.set(Some(values_max));
        }
        Self { is_outermost }
    }
}

impl Drop for Walks {
    fn drop(&mut self) {
        if self.is_outermost {
            LEFT.set(None);
        }
    }
}

/// Counts a value that is seen, with as much text in it. Outside of a render
/// there is nobody to be protected from.
pub(crate) fn see(bytes: usize) -> Result<()> {
    let Some(left) = LEFT.get() else {
        return Ok(());
    };
    let costs = 1 + (bytes / WALK_BYTES_PER_VALUE) as u64;
    if costs > left {
        return Err(Error::limit(
            "the template walks through too much data: lists and maps in one another",
        ));
    }
    LEFT.set(Some(left - costs));
    Ok(())
}
