//! The minion: one link per master, one of everything else.
//!
//! `core` thinks, the rest of the crate does. Invariant: no link waits for
//! another, and a job reaches the executor only as a
//! [`core::publication::Verified`].

pub mod beacons;
pub mod bus_requests;
pub mod call;
pub mod channel;
pub mod claims;
pub mod context;
pub mod core;
pub mod courier;
pub mod daemon;
mod daemon_bus;
pub mod executor;
mod executors;
mod failover;
pub mod fleet;
pub mod greeting;
pub mod limits;
mod line;
pub mod link_status;
pub mod link_task;
pub mod local_context;
pub mod own_files;
pub mod own_jobs;
mod own_work;
pub mod pillar;
pub mod proc_files;
pub(crate) mod replay;
pub mod returners;
pub mod scheduler;
pub mod signing_in;
pub mod start;
pub mod state;
pub mod status_report;
mod taking;
pub mod trust_store;
