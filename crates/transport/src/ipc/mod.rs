//! The local event bus over stream sockets: events that the daemon fires, or that
//! programs on the same machine send to it, reach every subscriber.
//!
//! Invariant: firing an event never waits. Each subscriber has its own bounded
//! queue, and one that does not read in time affects only itself.

mod bound_files;
mod bus;
mod bus_connection;
mod bus_event;
mod client;
mod dialect;
mod forward;
mod processes;
mod queue;
mod recent;
mod stream;
mod tcp_owner;

pub use bus::{BusOptions, EventBus};
pub use bus_event::{BusEvent, Origin};
pub use client::{ConnectError, EventPusher, EventSubscriber, PushError, ReceiveError};
pub use dialect::framing_of;
pub use halite_proto::stream::Framing;
pub use queue::LocalEvents;
pub use recent::{ForLate, LateListening};
