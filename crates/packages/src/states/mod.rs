//! State modules.

pub(crate) mod alternatives;
pub(crate) mod debconf;
pub(crate) mod gem;
pub(crate) mod git;
pub(crate) mod npm;
pub(crate) mod pip;
pub(crate) mod pkg;
pub(crate) mod pkgrepo;
pub(crate) mod virtualenv;
