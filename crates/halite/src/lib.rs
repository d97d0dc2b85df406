//! What the programs share: how a daemon starts and stops, and how a minion's
//! configuration becomes a minion.

pub mod addresses;
pub mod daemon;
pub mod embedded_api;
mod master_function;
pub mod minion;
