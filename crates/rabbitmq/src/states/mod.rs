//! State modules.

pub(crate) mod rabbitmq;
