//! ZeroMQ's wire protocol (ZMTP 3.0, the mechanism NULL): the two ports that
//! anybody on the network can reach, and connections to such ports (`dial`).
//!
//! ZeroMQ's own library lets a stranger fill the memory: it keeps the incomplete
//! message of every connection, however large, and any number of parts of an
//! endless message. Here the memory that strangers can use is counted, over all
//! connections.
//!
//! Invariant: memory grows with what has arrived, never with what a peer announces,
//! and the bytes of all unfinished messages have one limit.

mod connection_limit;
mod decoder;
mod dial;
mod encoder;
mod link;
mod listen;
mod places;
mod turned_away;
mod unfinished;

pub(crate) use connection_limit::{ConnectionLimit, ConnectionPermit, PlaceEnd};
pub use connection_limit::{connections_turned_away, minions_with_open_files};
pub(crate) use decoder::{Decoder, Item};
pub(crate) use dial::{Dial, DialError};
pub(crate) use encoder::{encode, encode_head};
pub(crate) use link::{Link, Outgoing, ReadOutcome, Stream};
pub(crate) use listen::{Accepted, Listening};
pub(crate) use places::{Arrival, Port};
pub(crate) use unfinished::{Share, Unfinished};

/// Why a connection is ended by this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("it does not speak ZMTP 3 with the mechanism NULL")]
    Greeting,
    #[error("its handshake is invalid")]
    Handshake,
    #[error("its socket type cannot be used here")]
    Kind,
    #[error("a frame is invalid")]
    Frame,
    #[error("a message is larger than allowed")]
    TooLarge,
}
