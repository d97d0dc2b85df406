//! Options, messages and errors of request ports and requesters.

use std::net::SocketAddr;
use std::time::Duration;

use halite_proto::Transport;
use thiserror::Error;

use super::{KeepAlive, Origin};
use crate::{Endpoint, SocketError, limits};

/// How a request port is bound.
#[derive(Clone, Debug)]
pub struct RequestPortOptions {
    /// What requesters speak (`transport`).
    pub transport: Transport,
    /// Requests that wait for the program.
    pub requests_max: usize,
    /// Bytes of the requests that wait for the program.
    pub request_bytes_max: usize,
    /// Bytes of requests that are not there yet, of all peers.
    pub unfinished_bytes_max: usize,
    /// Replies that wait for one peer; 0 means no limit. Later ones are lost.
    pub peer_replies_max: usize,
    /// Bytes of the replies that wait for one peer; one reply may exceed it.
    pub peer_reply_bytes_max: usize,
    /// Bytes of the replies that wait for all peers; one reply may exceed it.
    pub reply_bytes_max: usize,
    /// Largest message.
    pub message_bytes_max: usize,
    /// Connections that wait to be accepted.
    pub backlog: i32,
    /// Whether to serve IPv6 as well.
    pub ipv6: bool,
    /// TCP keep-alive of its connections.
    pub keep_alive: KeepAlive,
    /// How long closing waits for queued replies to be sent.
    pub linger: Duration,
    /// Permissions of a socket file.
    pub ipc_mode: u32,
}

impl Default for RequestPortOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            requests_max: limits::REQUEST_PORT_REQUESTS_MAX,
            request_bytes_max: limits::REQUEST_PORT_REQUEST_BYTES_MAX,
            unfinished_bytes_max: limits::REQUEST_PORT_UNFINISHED_BYTES_MAX,
            peer_replies_max: limits::REQUEST_PORT_PEER_REPLIES_MAX,
            peer_reply_bytes_max: limits::REQUEST_PORT_PEER_REPLY_BYTES_MAX,
            reply_bytes_max: limits::REQUEST_PORT_REPLY_BYTES_MAX,
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            backlog: 1000,
            ipv6: false,
            keep_alive: KeepAlive::SERVER,
            linger: limits::LINGER,
            ipc_mode: 0o600,
        }
    }
}

/// The sender of a request, to be named in the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub(crate) u64);

/// A request.
#[derive(Debug)]
pub struct Incoming {
    /// The peer that waits for the reply.
    pub peer: Peer,
    /// Where it comes from.
    pub from: Origin,
    /// The content.
    pub payload: Vec<u8>,
}

/// The port is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the request port is closed")]
pub struct ReplyError;

/// How a requester connects.
#[derive(Clone, Debug)]
pub struct RequesterOptions {
    /// The protocol of the request port (`transport`).
    pub transport: Transport,
    /// Connections at most.
    pub connections_max: usize,
    /// First pause before a lost connection is tried again.
    pub reconnect: Duration,
    /// The longest pause before reconnecting while a request waits; without one, no
    /// connection is tried. It is short because a caller stops waiting after some seconds
    /// and has pauses of its own.
    pub reconnect_max: Duration,
    /// Largest request and reply.
    pub message_bytes_max: usize,
    /// Whether IPv6 addresses of a name come first.
    pub ipv6: bool,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// Address and port to connect from.
    pub source: Option<SocketAddr>,
}

impl Default for RequesterOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            connections_max: limits::REQUESTER_CONNECTIONS_MAX,
            reconnect: Duration::from_millis(100),
            reconnect_max: Duration::from_millis(500),
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            ipv6: false,
            keep_alive: KeepAlive::PEER,
            source: None,
        }
    }
}

/// Why a request has no reply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The master was connected and did not answer in time.
    #[error("no answer from {endpoint} within {} ms", .waited.as_millis())]
    NoAnswer {
        /// Whom we asked.
        endpoint: Endpoint,
        /// How long we waited.
        waited: Duration,
    },
    /// There was no connection to the master in that time.
    #[error("no connection to {endpoint} within {} ms", .waited.as_millis())]
    NotConnected {
        /// Whom we wanted to ask.
        endpoint: Endpoint,
        /// How long we waited.
        waited: Duration,
    },
    /// The connection was lost after the request was sent. Whether the master
    /// has acted on it is unknown.
    #[error("the connection to {endpoint} was lost before it answered")]
    Disconnected {
        /// Whom we asked.
        endpoint: Endpoint,
    },
    /// The name of the master has no address.
    #[error("could not resolve the name of {endpoint}: {why}")]
    Unresolved {
        /// Whom we wanted to ask.
        endpoint: Endpoint,
        /// The error of the resolver.
        why: String,
    },
    /// The request is larger than a peer would take.
    #[error("a request of {bytes} bytes is larger than the limit of {max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Too many requests wait already.
    #[error("too many requests wait for {endpoint}")]
    Busy {
        /// Whom they wait for.
        endpoint: Endpoint,
    },
    /// The socket could not be used.
    #[error("could not send a request to {endpoint}")]
    Socket {
        /// Whom we wanted to ask.
        endpoint: Endpoint,
        /// Why.
        source: SocketError,
    },
    /// The task of the requester has ended: the runtime shuts down.
    #[error("the requester is closed")]
    Closed,
}
