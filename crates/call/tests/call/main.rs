//! Calls of functions. `files.rs` is a program of its own: it runs scripts that it has just
//! written, which a child of another test, forked at that moment, would still hold open.

mod arguments;
mod environment;
mod extensions;
mod parting;
mod pieces;
