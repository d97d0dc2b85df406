//! The master daemon: takes requests of minions and of programs on its host, publishes
//! jobs, and stores their returns.
//!
//! [`core`] decides, without doing anything. The other modules act. Each holds
//! one part of the master, a struct with the settings that it reads, and each
//! function takes the parts that it uses. The modules from the lowest to the
//! highest; a file imports its own module and those listed before it
//! (`module_order.rs` checks that):
//!
//! - `error`, `limits`, `clock`: what every part uses.
//! - `core`: decisions, without sockets, files, clocks or randomness.
//! - `workers`: threads that answer what waits.
//! - `settings`, `places`: the options that concern the whole master, and where
//!   they say that things are kept.
//! - `store_health`: whether these places are there.
//! - `events`: the event bus, the events of minions, the reactor's rules.
//! - `telemetry`: counts and statistics of requests, and what may be logged.
//! - `functions`: the functions that the master runs itself.
//! - `cluster`: the cluster that the master belongs to: files, links, grants.
//! - `fuzzing`: what fuzzing does with what masters of a cluster tell each other.
//! - `keys`: keys and sessions of minions, the master's own keys.
//! - `jobs`: job ids, the job cache, and what is remembered of jobs.
//! - `pillar_cache`: compiled pillars that are given again.
//! - `fleet`: which minions are connected, what is cached of them, targets.
//! - `tokens`, `access`: key files, logins and tokens of local users.
//! - `publishing`: judges, stores, announces and sends jobs.
//! - `registers`: what the masters of a cluster without shared files agree on.
//! - `shared_data`: what these masters know of minions and tokens, where no place is
//!   shared.
//! - `shared_roots`: the files of roots that a master of a cluster gives to the others.
//! - `under_way`: what each master of a cluster does that somebody waits for.
//! - `files`: the files for minions, and those that they push.
//! - `pillar`: pillars and master tops.
//! - `comparison`: what masters are compared by.
//! - `batches`: jobs for a few minions at a time.
//! - `wheel`: the functions that change the master.
//! - `runner`: the functions of `salt-run`.
//! - `reactor`: events that call for commands.
//! - `master`: the parts, put together.
//! - `relay`: what the other masters of the cluster tell, and what they are told.
//! - `handlers`: requests, once their sender is proven. They stand above `runner`, which
//!   those of `salt-run`, `salt-api` and permitted minions ask for.
//! - `serving`: sockets, workers, and the way of a request to its handler.
//! - `daemon`: start, tasks by the clock, and end.
//!
//! Invariant: nothing a peer sends reaches a handler before
//! `serving::request_pipeline` has proven who sent it, and no handler runs on
//! the thread that serves the network.

mod access;
mod batches;
mod clock;
mod cluster;
mod comparison;
pub mod core;
mod daemon;
mod error;
mod events;
mod files;
mod fleet;
mod functions;
#[doc(hidden)]
pub mod fuzzing;
mod handlers;
mod jobs;
mod keys;
pub mod limits;
mod master;
#[cfg(test)]
mod module_order;
mod pillar;
mod pillar_cache;
mod places;
mod publishing;
mod reactor;
mod registers;
mod relay;
mod runner;
mod serving;
mod settings;
mod shared_data;
mod shared_roots;
mod store_health;
mod telemetry;
mod tokens;
mod under_way;
mod wheel;
mod workers;

pub use access::local_keys::prepare_local_keys;
pub use daemon::Daemon;
pub use error::{StartError, chain};
pub use keys::odd_ids::odd_ids;
pub use pillar::externals::unknown_external_pillars;
pub use pillar::remotes::unusable_remotes;
pub use places::{unencrypted_stores, unusable_places};
