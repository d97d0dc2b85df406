//! The daemon's side of the operating system: pid file, background, users and
//! privileges, logs with rotation, readiness, signals and shutdown.
//!
//! Invariant: `sys.rs` and what is below it is the only unsafe code of the
//! project.

pub mod child;
pub mod clock;
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
pub mod priority;
pub mod privileges;
pub mod shutdown;
mod sys;
pub mod tcp_progress;

pub use privileges::umask;
