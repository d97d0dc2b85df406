//! Pillars and tops for minions.

pub(crate) mod externals;
pub(crate) mod pillars;
pub(crate) mod remotes;
pub(crate) mod tops;
