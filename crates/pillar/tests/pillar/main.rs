//! Pillars from every source. `recorded.rs` is a program of its own: it runs scripts that
//! it has just written, which a child of another test, forked at that moment, would still
//! hold open.

mod asked;
mod limits;
mod properties;
mod repositories;
