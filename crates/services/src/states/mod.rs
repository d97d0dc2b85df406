//! State modules.

pub(crate) mod alias;
pub(crate) mod at;
pub(crate) mod cron;
pub(crate) mod logrotate;
pub(crate) mod service;
pub(crate) mod supervisord;
