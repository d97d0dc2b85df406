//! Python's two ways to format text, and the little language they share.

mod braces;
mod number;
mod percent;
mod spec;

pub(crate) use braces::{braces, braces_map};
pub(crate) use percent::percent;
