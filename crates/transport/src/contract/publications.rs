//! Options and events of publish ports and subscribers.

use std::net::SocketAddr;
use std::time::Duration;

use halite_proto::{MinionId, Transport};

use super::{KeepAlive, PresenceWatch, SignsOfLife};
use crate::limits;

/// How a publish port is bound.
#[derive(Clone, Debug)]
pub struct PublishPortOptions {
    /// What subscribers speak (`transport`).
    pub transport: Transport,
    /// Publications kept per slow subscriber (`pub_hwm`); 0 means no limit. Later ones
    /// are lost for that subscriber.
    pub peer_messages_max: usize,
    /// Bytes of the publications kept per slow subscriber; one may exceed it.
    pub peer_bytes_max: usize,
    /// TCP connections that may wait to be accepted (`zmq_backlog`).
    pub backlog: i32,
    /// Whether to serve IPv6 as well.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// How long closing waits for queued publications to be sent.
    pub linger: Duration,
    /// Mode of the socket files of `ipc` endpoints.
    pub ipc_mode: u32,
    /// Whether publications are addressed to their [`Audience`]
    /// (`zmq_filtering`). Without it all subscribers get all publications, except for
    /// those that have proven to be other minions.
    pub filtering: bool,
    /// Whether syndics get what is addressed to minions (`order_masters`).
    pub syndics: bool,
    /// Verifies signs of life, and is notified of minions that connect or disconnect.
    pub presence: Option<PresenceWatch>,
}

impl Default for PublishPortOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            peer_messages_max: limits::PUBLISH_PORT_PEER_MESSAGES_MAX,
            peer_bytes_max: limits::PUBLISH_PORT_PEER_BYTES_MAX,
            backlog: 1000,
            ipv6: false,
            keep_alive: KeepAlive::PEER,
            linger: limits::LINGER,
            ipc_mode: 0o600,
            filtering: false,
            syndics: false,
            presence: None,
        }
    }
}

/// The minions that should get a publication. It saves bandwidth but hides nothing: a
/// subscriber that does not filter gets everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience<'a> {
    /// All subscribers.
    Everyone,
    /// The minions with these ids. With `zmq_filtering`, subscribers that do not filter
    /// get it too; without it, those that have not proven which minion they are, and
    /// all where there may be syndics.
    Minions(&'a [&'a str]),
}

/// How a subscriber connects.
#[derive(Clone, Debug)]
pub struct SubscribeOptions {
    /// The protocol of the publish port (`transport`).
    pub transport: Transport,
    /// The minion that subscribes; `None` for a subscriber without an identity.
    pub minion: Option<MinionId>,
    /// Whether only publications for everyone and for `minion` are wanted
    /// (`zmq_filtering`).
    pub filtering: bool,
    /// The sign of life that is repeated while the connection lasts. Only for ports that
    /// watch presence.
    pub signs_of_life: Option<SignsOfLife>,
    /// First pause before a lost connection is tried again (Salt: a random
    /// time between `recon_default` and `recon_default + recon_max`).
    pub reconnect: Duration,
    /// Longest pause before a lost connection is tried again (`recon_max`).
    pub reconnect_max: Duration,
    /// Publications that may wait for the program.
    pub messages_max: usize,
    /// Largest publication.
    pub message_bytes_max: usize,
    /// Whether IPv6 addresses of a name come first.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// Address and port to connect from.
    pub source: Option<SocketAddr>,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            minion: None,
            filtering: false,
            signs_of_life: None,
            reconnect: Duration::from_millis(100),
            reconnect_max: Duration::from_secs(10),
            messages_max: limits::SUBSCRIBER_MESSAGES_MAX,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            ipv6: false,
            keep_alive: KeepAlive::PEER,
            source: None,
        }
    }
}

/// An event of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscriberEvent {
    /// A publication.
    Publication(Vec<u8>),
    /// The connection is there and its handshake done.
    Connected,
    /// The connection was lost; it is tried again.
    Disconnected,
}

/// How the socket for publications of local programs is bound.
#[derive(Clone, Debug)]
pub struct LocalPublishOptions {
    /// The protocol of the local programs (`transport`).
    pub transport: Transport,
    /// Messages that may wait for the program; then the senders' wait in
    /// their sockets.
    pub messages_max: usize,
    /// Largest message.
    pub message_bytes_max: usize,
    /// Mode of the socket files of `ipc` endpoints.
    pub ipc_mode: u32,
}

impl Default for LocalPublishOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            messages_max: limits::SUBSCRIBER_MESSAGES_MAX,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            ipc_mode: 0o600,
        }
    }
}
