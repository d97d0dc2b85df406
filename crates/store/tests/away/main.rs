//! Writes while the server is away, full, read-only, slow or wrong: they wait on
//! disk, and are stored when the server takes them again.

#![cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cluster;
mod dead;
mod slow;
mod subject;
mod unwilling;
