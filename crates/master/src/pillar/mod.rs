//! Pillars and tops for minions.

pub(crate) mod pillars;
pub(crate) mod tops;
