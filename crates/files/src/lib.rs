//! The functions and states of files and archives: `file.*` and `archive.*`.
//!
//! `core` knows how a file is read, compared, owned and replaced; `sources`
//! where its content comes from; `exec` and `state` are the functions people
//! call. Invariant: a file appears under its name only when it is complete;
//! what was there before stays until then.

mod archive;
mod core;
mod exec;
mod limits;
mod sources;
mod state;

use halite_modules::Module;

/// The execution modules of this crate, sorted by name.
pub static MODULES: &[Module] = &[archive::MODULE, exec::MODULE];

/// The state modules of this crate, sorted by name.
pub static STATES: &[Module] = &[archive::STATE, state::MODULE];
