//! How Python spells values, splits lines and sorts.
//!
//! Salt's texts are full of it, so all is as with CPython 3.11, byte for byte.

mod order;
mod text;

pub use halite_proto::python::{float_repr, repr, str, str_repr};
pub use order::{equal, sort_by_any_key, sort_by_key, sorted};
pub use text::{is_space, len, lines, lines_with_ends, trim, trim_end};
