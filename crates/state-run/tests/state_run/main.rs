//! Runs of states, with the answers of real Salt. `lines.rs` is a program of its own: it
//! runs a program that it has just written, which a child of another test, forked at that
//! moment, would still hold open.

mod conformance;
mod coverage;
mod examples;
mod local_minion;
mod manual;
mod packages;
mod places;
mod random;
mod recorded;
mod requirements;
mod runs;
mod undefined;
mod users_modules;
