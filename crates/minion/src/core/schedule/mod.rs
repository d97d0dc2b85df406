//! The scheduler: which jobs a minion runs by itself, and when.
//!
//! Times of day are those of the local calendar, as Salt has them; intervals
//! are counted by a clock that nobody sets. Nothing here reads a clock: time
//! comes in as [`clock::Now`]. What a job may say is in `salt/utils/schedule.py`
//! of 3008.5.

pub mod clock;
pub mod cron;
pub mod dates;
pub mod job;
mod judge;
pub mod manage;
mod state;
pub mod table;

pub use clock::{Local, Now};
pub use job::{Due, Returned};
pub use manage::Managed;
pub use table::Table;
