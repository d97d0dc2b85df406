//! What the programs have in common: how a daemon starts and ends, and how a
//! minion's configuration becomes a minion.

mod addresses;
pub mod daemon;
mod master_function;
pub mod minion;
