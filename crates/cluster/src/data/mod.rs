//! What the masters of a cluster know of minions (grains, pillar, mine) and of
//! logins, if they have no common place for it.
//!
//! Each master stamps the data that it has received from a minion ([`Version`]) and
//! announces changes to the others. They fetch it, a few at a time, so that the
//! data that an absent master has not fetched yet takes no room at the others.
//! Digests find what was lost on the way. What somebody waits for is asked for at once.
//!
//! Invariant: a stored version is what the master that stamped it had; of two
//! versions all masters end with the later one.

mod exchange;
mod message;
mod sought;
mod version;

pub use self::exchange::{Exchange, Output};
pub use self::message::{Content, Message};
pub use self::sought::Search;
pub use self::version::{DataKind, DataName, Version, content_hash};
