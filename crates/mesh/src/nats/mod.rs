//! A bus between the masters: a NATS engine with JetStream.
//!
//! Each message to all others is sealed and put on the engine once; the engine
//! sends it to connected masters and keeps it for the others. The links between the
//! masters, TLS as always, run through the engine too ([`tunnel`]): they carry the
//! keys of sealed messages, signs of life, and acknowledgements.
//!
//! Invariant: the engine is not trusted: what it delivers must be authenticated,
//! from a linked peer, and in that peer's order.
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
