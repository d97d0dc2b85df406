//! The master's socket for publications of programs on its own machine.

use std::sync::Arc;

use super::{LocalPublishOptions, Transport};
use crate::{BindError, Counters, Endpoint, zeromq};

/// A bound socket, Salt's `publish_pull.ipc`, into which local programs push
/// publish loads. Dropping it closes it.
#[derive(Debug)]
pub struct LocalPublishSocket(Variant);

#[derive(Debug)]
enum Variant {
    ZeroMq(zeromq::Puller),
}

impl LocalPublishSocket {
    /// Binds all `endpoints` and starts taking messages.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: LocalPublishOptions) -> Result<Self, BindError> {
        Ok(Self(match options.transport {
            Transport::ZeroMq => Variant::ZeroMq(zeromq::Puller::bind(endpoints, options)?),
        }))
    }

    /// The next publish load; `None` only when the socket has failed.
    pub async fn recv(&mut self) -> Option<Vec<u8>> {
        match &mut self.0 {
            Variant::ZeroMq(socket) => socket.recv().await,
        }
    }

    /// The bound endpoints, with the ports that were taken.
    pub fn endpoints(&self) -> &[Endpoint] {
        match &self.0 {
            Variant::ZeroMq(socket) => socket.endpoints(),
        }
    }

    /// The counters of the socket.
    pub fn counters(&self) -> Arc<Counters> {
        match &self.0 {
            Variant::ZeroMq(socket) => socket.counters(),
        }
    }

    /// Accepts no more messages, and closes.
    pub async fn close(self) {
        match self.0 {
            Variant::ZeroMq(socket) => socket.close().await,
        }
    }
}
