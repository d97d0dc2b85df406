//! What a master keeps on disk: the job cache and the minion data cache.
//!
//! Both have Salt's layout, so that its runners read what is written here and
//! a master of either make can go on where the other stopped. Everything is
//! synchronous: the caller decides on which thread a disk may be waited for.
//!
//! Invariant: a reader sees a file whole or not at all. A file, or a whole job
//! that was not known before, is put in place by a rename, as Salt does, and like Salt without waiting for the disk: what
//! a power cut takes away, minions and users can ask for again.

mod atomic;
pub mod banks;
mod batches;
pub mod clean;
pub mod data;
pub mod error;
mod index;
pub mod jobs;
pub mod limits;
mod lines;
mod lookup;
mod packing;
mod recent;
mod staged;

pub use banks::{BankError, Banks};
pub use clean::Cleaned;
pub use data::{Bank, DataCache};
pub use error::StoreError;
pub use index::Parts;
pub use jobs::{JobCache, Saved};
pub use lines::append_lines;
pub use lookup::StoredReturn;
pub use packing::load_of_return;
