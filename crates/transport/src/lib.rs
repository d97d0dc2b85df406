//! Transports between a fleet and its masters ([`fleet`]), and stream sockets
//! for the local event bus ([`ipc`]).
//!
//! Every socket is owned by one task; the rest of a program holds bounded
//! queues to it. Invariant: no type of a socket library is visible outside
//! this crate, so the library can be replaced behind it.

mod contract;
pub mod counters;
pub mod endpoint;
pub mod error;
pub mod fleet;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod in_process;
pub mod ipc;
pub mod limits;
mod socket_file;
mod zeromq;
mod zmtp;

pub use counters::Counters;
pub use endpoint::Endpoint;
pub use error::{BindError, SocketError};
pub use zmtp::{connections_turned_away, minions_with_open_files};
