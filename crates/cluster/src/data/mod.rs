//! What the masters of a cluster know of minions - grains, pillar, mine - and of
//! logins, where they share no place that it is kept in.
//!
//! Each master stamps what it has taken from a minion ([`Version`]) and names to
//! the others what has changed. They fetch it, a few at a time, so that a master
//! that was away costs nobody the room of what it has not fetched yet. What was
//! lost on the way is found by digests.
//!
//! Invariant: what is stored as a version is what the master that stamped it had;
//! of two versions all masters end with the later one.

mod exchange;
mod message;
mod version;

pub use self::exchange::{Exchange, Output};
pub use self::message::{Content, Message};
pub use self::version::{DataKind, DataName, Version, content_hash};
