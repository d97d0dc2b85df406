//! What a process owes its operating system: a name in a pid file, a place in
//! the background, an identity with no more rights than it needs, logs that
//! rotate, and an orderly end.
//!
//! Invariant: `sys.rs` is the only file of the project with unsafe code.

pub mod child;
pub mod daemon;
pub mod hand_over;
pub mod limits;
pub mod logging;
pub mod memory;
pub mod notify;
pub mod pidfile;
pub mod privileges;
pub mod shutdown;
mod sys;

pub use privileges::umask;
