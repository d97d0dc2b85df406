//! What the programs have in common: how a daemon starts and ends, and how a
//! minion's configuration becomes a minion.

pub mod addresses;
pub mod daemon;
pub mod embedded_api;
mod master_function;
pub mod minion;
