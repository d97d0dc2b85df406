//! How much of the thread's stack a parse or a render has used: endless nesting
//! ends with an error while there is stack left. Frames differ between builds, so
//! bytes are counted and not calls.

use crate::error::{Error, Result};

/// Remembers where the stack was.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    start: usize,
}

/// Bytes of stack that one parse or render may use. Threads have 2 MiB or more.
const BYTES_MAX: usize = 1024 * 1024;

impl Stack {
    #[inline(never)]
    pub(crate) fn here() -> Self {
        Self { start: place() }
    }

    /// An error if too much is used.
    pub(crate) fn check(&self) -> Result<()> {
        if self.start.abs_diff(place()) > BYTES_MAX {
            return Err(Error::limit("maximum recursion depth exceeded"));
        }
        Ok(())
    }
}

#[inline(never)]
fn place() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}
