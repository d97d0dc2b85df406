//! A bus between the masters: a NATS engine with JetStream.
//!
//! What a master tells all others is sealed and put on the engine once; it hands
//! it to those that listen and keeps it for those that do not. The links between
//! the masters, TLS as ever, run through the engine too ([`tunnel`]): on them go
//! the keys of what is sealed, signs of life, and acknowledgements.
//!
//! Invariant: nothing that the engine says is believed: what it hands out is
//! authenticated, of a peer that is linked, and in that peer's order.
//!
//! No module here knows of the links.

pub(crate) mod batch;
mod book;
mod bus;
mod connection;
mod engine;
mod options;
mod places;
pub(crate) mod register;
mod signs;
mod subjects;
pub(crate) mod tunnel;

pub(crate) use book::{Book, HeardMessage, Stored, Taken};
pub(crate) use bus::Bus;
pub use bus::BusStatus;
pub(crate) use engine::Engine;
pub use options::{BusCredentials, BusOptions, BusServer};
pub use register::Register;
