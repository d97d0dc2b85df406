//! What every transport promises to the programs: the options, events and
//! errors of the roles in [`crate::fleet`].
//!
//! Invariant: nothing here belongs to one transport; a transport imports this
//! module, and this module imports no transport.

mod keep_alive;
mod origin;
mod presence;
mod publications;
mod requests;

pub use keep_alive::KeepAlive;
pub use origin::Origin;
pub use presence::{PresenceEvent, PresenceWatch, SignInterval, SignsOfLife, Unproven};
pub use publications::{
    Audience, LocalPublishOptions, PublishPortOptions, SubscribeOptions, SubscriberEvent,
};
pub use requests::{
    Incoming, Peer, ReplyError, RequestError, RequestPortOptions, RequesterOptions,
};
