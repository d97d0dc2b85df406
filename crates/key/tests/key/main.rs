//! The keys of a master and of its minions, in files and on every server.

mod autosign;
mod conformance;
mod pairs;
mod real_salt;
mod servers;
mod shared;
mod store;
mod unwilling;
