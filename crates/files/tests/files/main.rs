//! Functions and states of files. `races.rs` is a program of its own: its tests keep both
//! sides of a race busy.

mod common;
mod hard;
mod links;
mod real;
mod recorded;
mod table;
