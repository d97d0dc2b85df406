//! State modules.

pub(crate) mod beacon;
pub(crate) mod environ;
pub(crate) mod grains;
pub(crate) mod schedule;
