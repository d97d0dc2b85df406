//! State modules.

pub(crate) mod cron;
pub(crate) mod grains;
pub(crate) mod group;
pub(crate) mod host;
pub(crate) mod kmod;
pub(crate) mod service;
pub(crate) mod sysctl;
pub(crate) mod user;
mod user_changes;
