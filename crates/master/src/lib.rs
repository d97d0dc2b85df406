//! The master daemon: takes requests of minions and of programs on its host,
//! publishes jobs, keeps what comes back.
//!
//! [`core`] decides, without doing anything. The rest does: `serving`
//! takes requests off the network and proves who sends them, `handlers` serve
//! them, `publishing` and `events` tell the world.
//!
//! Invariant: nothing a peer sends reaches a handler before
//! `serving::request_pipeline` has proven who sent it, and no handler runs on
//! the thread that serves the network.

mod access;
mod batches;
mod clock;
mod comparison;
pub mod core;
mod daemon;
mod error;
mod events;
mod files;
mod fleet;
mod handlers;
mod jobs;
mod keys;
pub mod limits;
mod master;
mod pillar;
mod publishing;
mod reactor;
mod runner;
mod serving;
mod settings;
mod tokens;
mod wheel;
mod workers;

pub use daemon::Daemon;
pub use error::{StartError, chain};
pub use keys::local_keys::prepare_local_keys;
pub use pillar::externals::unknown_external_pillars;
