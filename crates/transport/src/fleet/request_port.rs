//! The master's request port.

use std::sync::Arc;

use super::{Incoming, Peer, ReplyError, RequestPortOptions, Transport};
#[cfg(test)]
use crate::in_process;
use crate::{BindError, Counters, Endpoint, zeromq};

/// A bound request port: takes requests, and answers them in any order.
#[derive(Debug)]
pub struct RequestPort(Variant);

#[derive(Debug)]
enum Variant {
    ZeroMq(zeromq::Router),
    #[cfg(test)]
    InProcess(in_process::RequestPort),
}

impl RequestPort {
    /// Binds to all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// starts taking requests.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: RequestPortOptions) -> Result<Self, BindError> {
        Ok(Self(match options.transport {
            Transport::ZeroMq => Variant::ZeroMq(zeromq::Router::bind(endpoints, options)?),
        }))
    }

    #[cfg(test)]
    pub(crate) fn bind_in_process(
        endpoints: &[Endpoint],
        options: RequestPortOptions,
    ) -> Result<Self, BindError> {
        let port = in_process::RequestPort::bind(endpoints, options)?;
        Ok(Self(Variant::InProcess(port)))
    }

    /// The next request; `None` once the port has failed.
    pub async fn recv(&mut self) -> Option<Incoming> {
        match &mut self.0 {
            Variant::ZeroMq(port) => port.recv().await,
            #[cfg(test)]
            Variant::InProcess(port) => port.recv().await,
        }
    }

    /// Where replies go; may be cloned and sent elsewhere.
    pub fn replies(&self) -> Replies {
        Replies(match &self.0 {
            Variant::ZeroMq(port) => RepliesVariant::ZeroMq(port.replies()),
            #[cfg(test)]
            Variant::InProcess(port) => RepliesVariant::InProcess(port.replies()),
        })
    }

    /// The counters of the port.
    pub fn counters(&self) -> Arc<Counters> {
        match &self.0 {
            Variant::ZeroMq(port) => port.counters(),
            #[cfg(test)]
            Variant::InProcess(port) => port.counters(),
        }
    }

    /// Where it is bound, as asked for, with the ports that were taken.
    pub fn endpoints(&self) -> &[Endpoint] {
        match &self.0 {
            Variant::ZeroMq(port) => port.endpoints(),
            #[cfg(test)]
            Variant::InProcess(port) => port.endpoints(),
        }
    }

    /// Accepts no more connections, and ends each one when its requests are answered.
    /// Requests that have arrived are still to be taken.
    pub fn turn_away(&self) {
        match &self.0 {
            Variant::ZeroMq(port) => port.turn_away(),
            #[cfg(test)]
            Variant::InProcess(port) => port.turn_away(),
        }
    }

    /// Stops taking requests and sends the replies that are queued.
    pub async fn close(self) {
        match self.0 {
            Variant::ZeroMq(port) => port.close().await,
            #[cfg(test)]
            Variant::InProcess(port) => port.close().await,
        }
    }
}

/// The way of replies to a request port.
#[derive(Clone, Debug)]
pub struct Replies(RepliesVariant);

#[derive(Clone, Debug)]
enum RepliesVariant {
    ZeroMq(zeromq::Replies),
    #[cfg(test)]
    InProcess(in_process::Replies),
}

impl Replies {
    /// Queues a reply. A reply to a peer that has disconnected, or that does not read, is
    /// dropped.
    ///
    /// # Errors
    /// When the port is closed.
    pub fn send(&self, peer: Peer, payload: Vec<u8>) -> Result<(), ReplyError> {
        match &self.0 {
            RepliesVariant::ZeroMq(replies) => replies.send(peer, payload),
            #[cfg(test)]
            RepliesVariant::InProcess(replies) => replies.send(peer, payload),
        }
    }

    /// The number of connections; those without a pending request may be missing.
    pub fn connections(&self) -> usize {
        match &self.0 {
            RepliesVariant::ZeroMq(replies) => replies.connections(),
            #[cfg(test)]
            RepliesVariant::InProcess(replies) => replies.connections(),
        }
    }
}
