//! Requests: the sockets they come from, and the way to their handlers.

pub(crate) mod old_versions;
pub(crate) mod request_pipeline;
pub(crate) mod server;
pub(crate) mod sockets;
pub(crate) mod stats;
