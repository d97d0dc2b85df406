//! The state modules.

pub(crate) mod postgres;
pub(crate) mod supervisord;
