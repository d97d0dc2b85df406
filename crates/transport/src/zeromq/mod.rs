//! The four roles a ZeroMQ socket has towards the fleet, and the one on the
//! master's own machine: serve, request, publish, subscribe, pull.
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
mod subscriber;

pub use context::terminate;
pub use options::KeepAlive;
pub use publisher::{Heard, PublishError, Publisher, PublisherOptions, TopicWatch};
pub use puller::{Puller, PullerOptions};
pub use requester::{Answer, RequestError, Requester, RequesterOptions};
pub use router::{Incoming, Peer, Replies, ReplyError, Router, RouterOptions};
pub use subscriber::{Pulse, SubscribeOptions, Subscriber, SubscriberEvent};
