//! The inputs of a link's task, and its outputs to the minion.

use std::net::IpAddr;
use std::time::Duration;

use halite_proto::{Map, MasterUri};
use halite_transport::fleet::{Requester, RequesterOptions, SubscribeOptions};

use super::signing_in::Failed;
use crate::core::link::{LinkTiming, Notice};
use crate::core::publication::Verified;
use crate::core::sign_in::Credentials;

/// The inputs of a link's task.
pub enum LinkInput {
    /// The keys of this session were refused.
    Refused {
        /// The number of the [`Session`](super::channel::Session).
        session: u64,
    },
    /// The name was looked up.
    Resolved(Result<IpAddr, String>),
    /// A sign-in came to its end.
    SignedIn(Result<(Box<Credentials>, Requester), Failed>),
    /// The master has answered a ping, or has not in time.
    Pinged(bool),
    /// The subscription brings nothing, whatever its connection says.
    Deaf,
    /// Bring the link up.
    Up,
    /// Take the link down.
    Down,
    /// Take the link down and end the task.
    End,
}

/// The outputs of a link's task to the minion.
pub enum LinkOutput {
    /// A job from this master.
    Job(Verified),
    /// Jobs of this master that this minion may have missed.
    Missed(Vec<Verified>),
    /// Commands can arrive now.
    Ready {
        /// For the first time since the minion started.
        first: bool,
    },
    /// The link has signed in again while commands could arrive.
    Renewed,
    /// Commands cannot arrive any more.
    Lost,
    /// The master has rejected this minion's key.
    Rejected,
    /// The link cannot get on; said once per reason.
    Stuck(Notice),
    /// The master of a link that is down has answered a ping.
    Answered,
}

/// Everything fixed about a link.
#[derive(Clone)]
pub struct LinkSettings {
    /// The master, as configured.
    pub uri: MasterUri,
    /// How the link behaves over time.
    pub timing: LinkTiming,
    /// How long one sign-in may take (`auth_timeout`).
    pub auth_timeout: Duration,
    /// Whether unsigned publications are discarded (`sign_pub_messages`).
    pub signature_required: bool,
    /// `publish_port` of this minion's configuration, if it overrides the
    /// master's.
    pub publish_port: Option<u16>,
    /// How subscriptions connect.
    pub subscribe: SubscribeOptions,
    /// How requests connect.
    pub request: RequesterOptions,
    /// Whether only IPv6 addresses are wanted (true), only IPv4 (false), any.
    pub ipv6: Option<bool>,
    /// Grains that may let a master accept the key (`autosign_grains`).
    pub autosign_grains: Option<Map>,
}
