//! The master daemon.
#![allow(dead_code)]

mod accepted;
mod bus;
mod clock;
pub mod core;
mod error;
pub mod limits;
mod local_keys;
mod publisher;
mod sessions;
mod workers;
pub use error::{StartError, chain};
