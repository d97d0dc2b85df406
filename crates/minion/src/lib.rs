//! The minion: one link per master, one of everything else.
//!
//! `core` thinks, the rest of the crate does. Invariant: no link waits for
//! another, and a job reaches the executor only as a
//! [`core::publication::Verified`].

mod beacons;
mod beginning;
mod bus_requests;
pub mod call;
pub mod channel;
mod claims;
mod context;
pub mod core;
pub mod courier;
pub mod daemon;
mod daemon_bus;
mod executor;
mod executors;
mod failover;
mod fleet;
#[doc(hidden)]
pub mod fuzzing;
mod greeting;
pub mod limits;
mod line;
mod link_status;
mod link_task;
pub mod local_context;
mod managed;
mod meters;
mod own_files;
mod own_jobs;
mod own_work;
pub mod pace;
mod pillar;
mod proc_files;
pub(crate) mod replay;
pub mod returners;
mod scheduler;
mod signing_in;
pub mod start;
mod state;
pub mod status_report;
mod stuck;
mod taking;
pub mod telemetry;
mod trust_store;

pub use core::beacons::faults as beacon_faults;
pub use state::Minion;
