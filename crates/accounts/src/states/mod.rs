//! State modules.

pub(crate) mod group;
pub(crate) mod ssh_auth;
pub(crate) mod ssh_known_hosts;
pub(crate) mod user;
