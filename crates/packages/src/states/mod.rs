//! State modules.

pub(crate) mod pkg;
pub(crate) mod pkgrepo;
