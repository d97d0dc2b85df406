//! The roles between a fleet and its masters.
//!
//! | role | held by |
//! | --- | --- |
//! | [`RequestPort`] | a master: takes requests and answers them in any order |
//! | [`PublishPort`] | a master: sends publications, learns which minions are here |
//! | [`LocalPublishSocket`] | a master: takes publications of programs on its own machine |
//! | [`Requester`] | minions, tools, other masters: ask one request port |
//! | [`Subscriber`] | a minion: receives the publications of one publish port |
//!
//! The option `transport`, a field of each role's options, chooses what is
//! spoken. Each role is an enum of the transports that are built. Invariant:
//! no program sees which one it is, and all of them pass `conformance`.

mod local_publish;
mod publish_port;
mod request_port;
mod requester;
mod subscriber;

#[cfg(test)]
mod conformance;

pub use halite_proto::Transport;

pub use crate::contract::{
    Audience, Incoming, KeepAlive, LocalPublishOptions, Origin, Peer, PresenceEvent, PresenceWatch,
    PublishPortOptions, ReplyError, RequestError, RequestPortOptions, RequesterOptions,
    SignInterval, SignsOfLife, SubscribeOptions, SubscriberEvent, Unproven,
};
pub use local_publish::LocalPublishSocket;
pub use publish_port::PublishPort;
pub use request_port::{Replies, RequestPort};
pub use requester::{Answer, Requester};
pub use subscriber::Subscriber;
