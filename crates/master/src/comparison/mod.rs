//! The facts about this master, for other masters to compare with theirs.

pub(crate) mod facts;
pub(crate) mod sealed;
mod together;
