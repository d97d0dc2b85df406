//! A subscription to one publish port.

use std::sync::Arc;

use super::{SubscribeOptions, SubscriberEvent, Transport};
#[cfg(test)]
use crate::in_process;
use crate::{Counters, Endpoint, zeromq};

/// A subscription, which says when its connection comes and goes. Dropping it
/// closes the connection.
#[derive(Debug)]
pub struct Subscriber(Variant);

#[derive(Debug)]
enum Variant {
    ZeroMq(zeromq::Subscriber),
    #[cfg(test)]
    InProcess(in_process::Subscriber),
}

impl Subscriber {
    /// Starts to connect; it stays connected as long as it can.
    pub fn connect(endpoint: Endpoint, options: SubscribeOptions) -> Self {
        Self(match options.transport {
            Transport::ZeroMq => Variant::ZeroMq(zeromq::Subscriber::connect(endpoint, options)),
        })
    }

    #[cfg(test)]
    pub(crate) fn connect_in_process(endpoint: Endpoint, options: SubscribeOptions) -> Self {
        Self(Variant::InProcess(in_process::Subscriber::connect(
            endpoint, options,
        )))
    }

    /// The next event; `None` only when the subscription has failed. Nothing
    /// is lost when the future is dropped.
    pub async fn recv(&mut self) -> Option<SubscriberEvent> {
        match &mut self.0 {
            Variant::ZeroMq(subscriber) => subscriber.recv().await,
            #[cfg(test)]
            Variant::InProcess(subscriber) => subscriber.recv().await,
        }
    }

    /// Where this is connected to.
    pub fn endpoint(&self) -> &Endpoint {
        match &self.0 {
            Variant::ZeroMq(subscriber) => subscriber.endpoint(),
            #[cfg(test)]
            Variant::InProcess(subscriber) => subscriber.endpoint(),
        }
    }

    /// The counters of the subscription.
    pub fn counters(&self) -> Arc<Counters> {
        match &self.0 {
            Variant::ZeroMq(subscriber) => subscriber.counters(),
            #[cfg(test)]
            Variant::InProcess(subscriber) => subscriber.counters(),
        }
    }
}
