//! The local event bus over stream sockets: what the daemon fires, and what
//! programs on the same machine send to it, reaches every subscriber.
//!
//! Invariant: firing an event never waits. Each subscriber has its own bounded
//! queue, and who does not read in time is the only one who suffers.

mod bus;
mod bus_connection;
mod client;
mod frame;
mod queue;
mod stream;

pub use bus::{BusOptions, EventBus};
pub use client::{ConnectError, EventPusher, EventSubscriber, ReceiveError};
pub use frame::{BusEvent, FrameError, Framing};
pub use queue::LocalEvents;
