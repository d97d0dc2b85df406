//! The roles of [`crate::fleet`] over ZeroMQ: serve, request, publish, subscribe,
//! and pull on the master's own machine.
//!
//! They use our own implementation of the protocol (`crate::zmtp`): the library
//! does not limit the memory of strangers on the ports that anybody can reach, and
//! each of its connections costs four descriptors, several thread wake-ups and one
//! of the thousand sockets of a process. Only pulling uses it.
//!
//! The library underneath signals a socket through an edge-triggered file
//! descriptor whose edge any operation may consume. So a socket is never split, one
//! task owns it, and that task checks both directions after every operation
//! (`pump`). Invariant: no program outside this module can make a socket wait for
//! another one.

mod backoff;
mod bind;
mod context;
mod heard;
mod options;
mod outbox;
mod publisher;
mod publisher_peer;
mod puller;
mod pump;
mod requester;
mod requester_lane;
mod router;
mod router_peer;
mod router_replies;
mod standstill;
mod subscriber;
mod subscribers;
mod topics;

pub(crate) use publisher::Publisher;
pub(crate) use puller::Puller;
pub(crate) use requester::{Answer, Requester};
pub(crate) use router::{Replies, Router};
pub(crate) use subscriber::Subscriber;
