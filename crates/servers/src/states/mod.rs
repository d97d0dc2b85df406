//! The state modules.

pub(crate) mod etcd;
pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod rabbitmq;
pub(crate) mod supervisord;
