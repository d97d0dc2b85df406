//! JSON as Python's `json` writes and reads it, with its error texts.
//!
//! Invariant: whatever the text or the data, the nesting that is followed is
//! limited ([`crate::limits::DEPTH_MAX`]).

mod packed;
mod read;
mod write;

pub use packed::{PackedError, write_packed};
pub use read::{JsonError, read};
pub use write::{Style, Unwritable, float, write, write_text};
