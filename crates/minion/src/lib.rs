//! The minion: one link per master, one of everything else.
//!
//! `core` thinks, the rest of the crate does. Invariant: no link waits for
//! another, and a job reaches the executor only as a
//! [`core::publication::Verified`].

pub mod channel;
pub mod core;
pub mod limits;
pub mod link_task;
pub mod proc_files;
pub mod trust_store;
