//! Packet filters through `nft`.
//!
//! Invariant: rules reach the kernel through the program `nft` only.

pub(crate) mod answer;
mod changes;
mod functions;
mod json;
mod rule;
pub(crate) mod tables;
mod words;

pub(crate) use functions::MODULE;
