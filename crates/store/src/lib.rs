//! What a master keeps: jobs and their returns, data of minions, banks of
//! anything, tokens.
//!
//! Each is a role ([`Jobs`], [`MinionData`], [`Banks`], [`Tokens`]) in front of a backend,
//! and [`open`] is how every program comes by them. Today the one backend is
//! [`StoreOptions::LocalFs`]: files in Salt's layout, so that its runners read
//! what is written here and a master of either make can go on where the other
//! stopped. Everything is synchronous: the caller decides on which thread a
//! disk may be waited for.
//!
//! Invariants: an operation of a backend is done wholly or not at all, as
//! readers see it, and can be tried again; no path leaves the crate, except in
//! the text of an error.

mod backend;
pub mod banks;
pub mod error;
#[cfg(feature = "test-backends")]
mod faulty;
pub mod jobs;
pub mod limits;
mod lines;
mod local_fs;
#[cfg(feature = "test-backends")]
mod memory_store;
pub mod minion_data;
mod packing;
pub mod tokens;

pub use backend::{Store, StoreOptions, open};
pub use banks::{BankError, Banks};
pub use error::StoreError;
#[cfg(feature = "test-backends")]
pub use faulty::Faults;
pub use jobs::{Cleaned, Jobs, Saved, StoredReturn};
pub use lines::append_lines;
#[cfg(feature = "test-backends")]
pub use memory_store::MemoryStore;
pub use minion_data::{Bank, MinionData, Parts};
pub use packing::load_of_return;
pub use tokens::{TokenId, Tokens};
