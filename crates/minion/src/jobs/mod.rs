//! Jobs from their start to their return: those that masters have published,
//! and those of the minion's own.
//!
//! Invariant: a job of a master has passed
//! [`Verified`](crate::core::publication::Verified), and its claim is on disk
//! before it runs.

mod beginning;
pub(crate) mod executor;
pub(crate) mod executors;
mod load;
pub(crate) mod own_jobs;
mod stuck;
pub(crate) mod taking;
