//! Thousands of minions in one process, to measure what a master bears.
//!
//! They are the minion of this project, not a model of it: each has its own
//! links, job claims, spool and courier, and real connections from a loopback
//! address of its own. What is not real is named here: state runs are made up
//! ([`functions`]), grains are those of this machine with another name
//! ([`member`]), and minions may share keys ([`keys`]).
//!
//! Invariant: nothing a member does waits for another member, and what is
//! counted ([`tally`]) is bounded.

pub mod functions;
pub mod herd;
pub mod keys;
pub mod limits;
pub mod member;
pub mod plan;
pub mod report;
pub mod tally;
