//! The minion: one link per master, one of everything else.
//!
//! `core` thinks, the rest of the crate does. The modules from the lowest to the
//! highest; each imports only itself and those before it (`module_order.rs` checks
//! that):
//!
//! - `limits`: the bounds of everything that could grow.
//! - `core`: decisions, without sockets, files or clocks.
//! - `records`: what is on disk of the jobs that have begun, and of the
//!   publications that have arrived.
//! - `fuzzing`: what fuzzing does with the files of `records`.
//! - `link`: the link to one master: its task, and sealed requests over it.
//! - `minion`: what exists once per minion, and once per master.
//! - `context`: the minion as the functions of a job see it.
//! - `returners`: where returns go besides the masters.
//! - `courier`: returns on their way to the masters, and on disk until then.
//! - `jobs`: jobs from their start to their return.
//! - `managed`: what the schedule and the beacons have in common, and the
//!   schedule.
//! - `beacons`: what is looked at again and again, and told to the masters.
//! - `fleet`: the links to all masters, run together.
//! - `start`, `call`, `daemon`: from settings to a running minion, `salt-call`,
//!   and the minion as a daemon.
//!
//! Invariant: no link waits for another, and a job reaches the executor only as
//! a [`core::publication::Verified`].

mod beacons;
pub mod call;
pub mod context;
pub mod core;
pub mod courier;
pub mod daemon;
mod fleet;
#[doc(hidden)]
pub mod fuzzing;
mod jobs;
pub mod limits;
pub mod link;
mod managed;
pub mod minion;
#[cfg(test)]
mod module_order;
mod records;
pub mod returners;
pub mod start;

pub use core::beacons::faults as beacon_faults;
pub use minion::Minion;
