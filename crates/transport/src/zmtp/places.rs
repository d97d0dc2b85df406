//! How many connections there may be, their shares, and which one asks for a place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::sys::resource::{Resource, getrlimit};

use crate::contract::Origin;
use crate::limits::{
    CONNECTIONS_MAX, DESCRIPTORS_KEPT_MIN, OWN_CONNECTIONS_KEPT_MAX, REQUEST_CONNECTIONS_KEPT_MAX,
};

/// Descriptors of the process: this part is not for connections.
const PART_KEPT: usize = 8;

/// If there are few places, this part is kept for requests, and for programs of this
/// machine.
const PART_OF_PLACES_KEPT: usize = 8;

/// The number of connections and their shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// All.
    pub(crate) all: usize,
    /// Those of them that subscriptions may take: this many minions can be served.
    pub(crate) subscriptions: usize,
    /// Those of them that other machines may take.
    pub(super) others: usize,
}

impl Places {
    pub(super) fn new(all: usize) -> Self {
        let kept = |most: usize| (all / PART_OF_PLACES_KEPT).min(most);
        let others = all - kept(OWN_CONNECTIONS_KEPT_MAX);
        Self {
            all,
            subscriptions: others - kept(REQUEST_CONNECTIONS_KEPT_MAX),
            others,
        }
    }

    /// The number that the descriptors of this process allow.
    pub(super) fn of_process() -> Self {
        match getrlimit(Resource::RLIMIT_NOFILE) {
            Ok((soft, _)) => Self::of_open_files(soft),
            Err(_) => Self::new(CONNECTIONS_MAX),
        }
    }

    /// The number that this limit of open files allows.
    pub(crate) fn of_open_files(files: u64) -> Self {
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let kept = (files / PART_KEPT).max(DESCRIPTORS_KEPT_MIN);
        let all = files.saturating_sub(kept).clamp(1, CONNECTIONS_MAX);
        Self::new(all)
    }
}

/// The port at which a connection has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// The one for requests.
    Requests,
    /// The one for subscriptions.
    Subscriptions,
}

/// A connection that wants a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) origin: Origin,
    /// A program of this machine has opened it.
    pub(crate) is_own: bool,
    pub(crate) port: Port,
}

impl Arrival {
    /// A connection from `from` to `to`; over a socket file neither is known. A
    /// program that asks for no address has the one that it connects to, or the
    /// usual one of the loopback interface.
    pub(crate) fn new(from: Option<IpAddr>, to: Option<IpAddr>, port: Port) -> Self {
        let usual = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let is_own = from.is_none_or(|from| {
            let from = from.to_canonical();
            usual.contains(&from) || to.is_some_and(|to| to.to_canonical() == from)
        });
        Self {
            origin: Origin::of(from),
            is_own,
            port,
        }
    }
}
