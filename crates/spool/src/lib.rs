//! Messages kept on disk until they are acknowledged.
//!
//! A [`Spool`] is a directory of append-only segments. Appending writes at
//! once, so that a message survives the death of the process; [`Spool::sync`]
//! makes everything appended so far survive a power cut, many messages at a
//! time. A message that is acknowledged before the next sync never costs a
//! flush of the disk.
//!
//! Invariant: a message that was appended is either pending, acknowledged, or
//! counted as dropped; a damaged file loses at most what is damaged.

mod error;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod moment;
mod record;
mod segment;
mod spool;
mod stamp;

pub use error::SpoolError;
pub use limits::{Dropped, Limits};
pub use moment::Moment;
pub use spool::{Pending, Spool, Unsynced};
