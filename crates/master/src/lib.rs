//! The master daemon: takes requests of minions and of programs on its host,
//! publishes jobs, keeps what comes back.
//!
//! [`core`] decides, without doing anything. The rest does: `server` and
//! `workers` move requests off the network, `door` proves who sends them,
//! `handlers` serve them, `publisher` and `bus` tell the world.
//!
//! Invariant: nothing a peer sends reaches a handler before `door` has proven
//! who sent it, and no handler runs on the thread that serves the network.

mod accepted;
mod attendance;
mod batches;
mod bus;
mod clock;
mod connected;
pub mod core;
mod daemon;
mod door;
mod engines;
mod error;
mod event_returns;
mod facts;
mod file_changes;
mod handlers;
mod job_mirror;
pub mod limits;
mod local_keys;
mod logins;
mod maintenance;
mod master;
mod missed;
mod old_versions;
mod pillars;
mod publisher;
mod pushed;
mod reactor;
mod runner;
mod scheduler;
mod server;
mod sessions;
mod settings;
mod sockets;
mod stats;
mod tokens;
mod tops;
mod wheel;
mod workers;

pub use daemon::Daemon;
pub use error::{StartError, chain};
pub use local_keys::prepare_local_keys;
