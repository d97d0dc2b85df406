//! The link to one master: the task that keeps it up, its sealed requests, and its
//! status.
//!
//! Invariant: a link knows of no other link, of no job and of no return.

pub mod channel;
pub(crate) mod failover;
mod lookup;
mod notices;
mod signing_in;
pub(crate) mod signs;
pub(crate) mod status;
pub(crate) mod task;
mod trust_store;
pub(crate) mod words;

pub(crate) use self::signing_in::ping;
pub(crate) use self::trust_store::TrustStore;
