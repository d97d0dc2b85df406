//! What a process owes its operating system: a name in a pid file, a place in
//! the background, an identity with no more rights than it needs, logs that
//! rotate, and an orderly end.
//!
//! Invariant: `sys.rs` and what is below it is the only unsafe code of the
//! project.

pub mod child;
pub mod command_line;
pub mod daemon;
pub mod file_size;
pub mod hand_over;
pub mod limits;
pub mod logging;
pub mod memory;
pub mod notify;
pub mod password;
pub mod pidfile;
pub mod privileges;
pub mod shutdown;
mod sys;

pub use privileges::umask;
