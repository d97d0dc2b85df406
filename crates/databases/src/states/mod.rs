//! State modules.

pub(crate) mod etcd;
pub(crate) mod mysql;
pub(crate) mod postgres;
