//! Requests: the sockets that receive them, and the way to their handlers.

mod admission;
pub(crate) mod clear_requests;
mod local_commands;
pub(crate) mod old_versions;
pub(crate) mod request_pipeline;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod sockets;

use std::sync::Arc;

use self::settings::ServingSettings;
use crate::master::Master;

/// What requests are served with.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) master: Arc<Master>,
    pub(crate) settings: ServingSettings,
}
