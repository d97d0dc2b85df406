//! What this master knows of itself, for other masters to compare with.

pub(crate) mod facts;
pub(crate) mod sealed;
mod together;
