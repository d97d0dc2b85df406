//! How Python prints, sorts and splits: `repr()`, `str()`, `sorted()`,
//! `splitlines()` and related functions.
//!
//! Salt's texts, targets and templates depend on it, so everything is as in CPython
//! 3.11, byte for byte.

mod order;
mod spelling;
mod system;
mod text;

pub use order::{equal, sort_by_any_key, sort_by_key, sorted};
pub use spelling::{bytes_repr, float_repr, is_printable, repr, str, str_repr};
pub use system::{os_error_class, strerror};
pub use text::{is_space, len, lines, lines_with_ends, trim, trim_end};
