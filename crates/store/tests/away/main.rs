//! What is to be stored while the server is away, full, read-only, slow or wrong:
//! it waits on disk, and is stored when the server takes it again.

#![cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cluster;
mod dead;
mod slow;
mod subject;
mod unwilling;
