//! Thousands of minions in one process, to measure how many a master can serve.
//!
//! They use the code of the real minion: each has its own links, job claims, spool
//! and courier, and real connections from a loopback address of its own. These
//! parts are not real: state runs are simulated ([`functions`]), grains are those
//! of this machine with another name ([`member`]), and minions may share keys
//! ([`keys`]).
//!
//! Invariant: nothing a member does waits for another member, and what is counted
//! ([`tally`]) is bounded.

pub mod functions;
pub mod herd;
pub mod keys;
pub mod limits;
pub mod member;
pub mod plan;
pub mod report;
pub mod tally;
mod thinking;
