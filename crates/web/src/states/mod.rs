//! State modules.

pub(crate) mod apache;
pub(crate) mod http;
pub(crate) mod webutil;
