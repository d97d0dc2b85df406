//! State modules.

pub(crate) mod group;
pub(crate) mod service;
pub(crate) mod user;
mod user_changes;
