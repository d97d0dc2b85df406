//! Filters of packets through `nft`.
//!
//! Invariant: rules reach the kernel through the program `nft` only.

mod functions;
mod rule;
pub(crate) mod tables;
mod words;

pub(crate) use functions::MODULE;
