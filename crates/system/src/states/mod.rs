//! State modules.

pub(crate) mod alias;
pub(crate) mod alternatives;
pub(crate) mod beacon;
pub(crate) mod cron;
pub(crate) mod environ;
pub(crate) mod grains;
pub(crate) mod group;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod ini;
pub(crate) mod kmod;
pub(crate) mod locale;
pub(crate) mod mount;
pub(crate) mod process;
pub(crate) mod repeat;
pub(crate) mod schedule;
pub(crate) mod selinux;
mod selinux_labels;
pub(crate) mod service;
pub(crate) mod ssh_auth;
pub(crate) mod ssh_known_hosts;
pub(crate) mod stateconf;
mod swap;
pub(crate) mod sysctl;
pub(crate) mod timezone;
pub(crate) mod user;
mod user_changes;
