//! Python's `%` on text, and the directives of `str.format`.

mod number;
mod pad;
mod percent;
mod spec;

pub(crate) use pad::pad;
pub(crate) use percent::percent;
pub(crate) use spec::apply;
