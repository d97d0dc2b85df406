//! The master's publish port.

use std::sync::Arc;

use super::{Audience, PublishPortOptions, Transport};
#[cfg(test)]
use crate::in_process;
use crate::{BindError, Counters, Endpoint, zeromq};

/// A handle to publish. Clones share the port; it closes, after what is queued
/// was sent, when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct PublishPort(Variant);

#[derive(Clone, Debug)]
enum Variant {
    ZeroMq(zeromq::Publisher),
    #[cfg(test)]
    InProcess(in_process::PublishPort),
}

impl PublishPort {
    /// Binds all `endpoints` (port 0 takes a free one, see `endpoints`) and
    /// lets subscribers in.
    ///
    /// # Errors
    /// When one of them cannot be bound; none is then.
    pub fn bind(endpoints: &[Endpoint], options: PublishPortOptions) -> Result<Self, BindError> {
        Ok(Self(match options.transport {
            Transport::ZeroMq => Variant::ZeroMq(zeromq::Publisher::bind(endpoints, options)?),
        }))
    }

    #[cfg(test)]
    pub(crate) fn bind_in_process(
        endpoints: &[Endpoint],
        options: PublishPortOptions,
    ) -> Result<Self, BindError> {
        let port = in_process::PublishPort::bind(endpoints, options)?;
        Ok(Self(Variant::InProcess(port)))
    }

    /// Queues a publication for its audience. A subscriber that has no room
    /// for it loses it.
    pub fn publish(&self, audience: Audience<'_>, payload: &[u8]) {
        match &self.0 {
            Variant::ZeroMq(port) => port.publish(audience, payload),
            #[cfg(test)]
            Variant::InProcess(port) => port.publish(audience, payload),
        }
    }

    /// Where it is bound, in the order that was asked for.
    pub fn endpoints(&self) -> &[Endpoint] {
        match &self.0 {
            Variant::ZeroMq(port) => port.endpoints(),
            #[cfg(test)]
            Variant::InProcess(port) => port.endpoints(),
        }
    }

    /// The counters of the port. A publication that a subscriber had no room for counts
    /// as dropped.
    pub fn counters(&self) -> Arc<Counters> {
        match &self.0 {
            Variant::ZeroMq(port) => port.counters(),
            #[cfg(test)]
            Variant::InProcess(port) => port.counters(),
        }
    }

    /// Accepts no more subscribers, and ends each connection once its queued messages are
    /// sent: subscribers look for another port under the same name. Later publications
    /// reach nobody.
    pub fn hand_over(&self) {
        match &self.0 {
            Variant::ZeroMq(port) => port.hand_over(),
            #[cfg(test)]
            Variant::InProcess(port) => port.hand_over(),
        }
    }

    /// Drops this handle; if it is the last one, waits until what is queued
    /// was sent and the port closed.
    pub async fn close(self) {
        match self.0 {
            Variant::ZeroMq(port) => port.close().await,
            #[cfg(test)]
            Variant::InProcess(port) => port.close().await,
        }
    }
}
