//! State modules.

pub(crate) mod git;
pub(crate) mod pip;
pub(crate) mod pkg;
pub(crate) mod pkgrepo;
pub(crate) mod virtualenv;
