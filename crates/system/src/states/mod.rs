//! State modules.

pub(crate) mod cron;
pub(crate) mod group;
pub(crate) mod service;
pub(crate) mod sysctl;
pub(crate) mod user;
mod user_changes;
