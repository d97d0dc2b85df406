//! The publish port, and what other programs push to it.

pub(crate) mod publisher;
pub(crate) mod pushed;
