//! Packet filters through `iptables`.
//!
//! Invariant: rules reach the kernel through the programs of iptables only.

mod functions;
mod options;
mod parse;
mod rule;
pub(crate) mod tables;

pub(crate) use functions::MODULE;
