//! The roles of [`crate::fleet`] over ZeroMQ: serve, request, publish,
//! subscribe, and pull on the master's own machine.
//!
//! Serving and publishing, which anybody on the network can reach, speak the
//! protocol themselves (`crate::zmtp`). The others use the library.
//!
//! The library underneath signals a socket through an edge-triggered file
//! descriptor whose edge any operation may consume. So a socket is never
//! split, one task owns it, and that task looks at both directions after every
//! operation (`pump`). Invariant: no program outside this module can make a
//! socket wait for another one.

mod bind;
mod context;
mod heard;
mod monitor;
mod options;
mod publisher;
mod publisher_peer;
mod puller;
mod pump;
mod requester;
mod requester_lane;
mod router;
mod router_peer;
mod standstill;
mod subscriber;
mod topics;

pub(crate) use publisher::Publisher;
pub(crate) use puller::Puller;
pub(crate) use requester::{Answer, Requester};
pub(crate) use router::{Replies, Router};
pub(crate) use subscriber::Subscriber;
