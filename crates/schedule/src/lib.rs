//! Jobs by the clock: which are due, and when. A minion and a master have the
//! same schedule around different jobs.
//!
//! Times of day are those of the local calendar, as Salt has them; intervals
//! are counted by a clock that nobody sets. What a job may say is in
//! `salt/utils/schedule.py` of 3008.5.
//!
//! Invariant: nothing here reads a clock; time comes in as [`clock::Now`].

pub mod clock;
pub mod cron;
pub mod dates;
mod due;
mod faults;
pub mod job;
mod job_state;
mod judge;
pub mod manage;
mod metadata;
pub mod strptime;
pub mod table;

pub use clock::{Local, Now};
pub use due::{Due, Returned};
pub use faults::{Fault, faults};
pub use manage::Managed;
pub use metadata::stamped;
pub use table::Table;
