//! The links between the masters of a cluster: each master sends all others the
//! events that happen at it, in order, and sends a peer what it has missed when it
//! is back.
//!
//! Each master dials its peers and sends over the connections that it has dialled
//! ([ADR 0013]); a peer acknowledges on the same connection what it has handled.
//! Connections are TLS 1.3 with the masters' own keys, pinned to the files of
//! [`Pins`]. With a bus ([ADR 0015]) each message goes there once, sealed, and the
//! connections run through its engine.
//!
//! Invariants: nothing of a connection is handed on before the key of its other end
//! was found among the pins; the messages of one peer are handed on once and in
//! order; sending never waits. No `openssl` type leaves `tls`.
//!
//! [ADR 0015]: ../../../docs/adr/0015-a-bus-for-the-cluster.md
//! [ADR 0013]: ../../../docs/adr/0013-the-master-cluster.md

mod accept;
mod dial;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod handshakes;
mod heard;
mod join;
pub mod limits;
mod log;
mod mesh;
mod nats;
mod overhear;
mod peer;
mod pins;
mod publish;
mod salt;
mod shared;
mod tell;
mod tls;
mod wire;

pub use accept::Listener;
pub use error::MeshError;
pub use join::{Conversation, JoinLink, Joins, Turn, converse};
pub use log::RELEASED;
pub use mesh::Mesh;
pub use nats::{BusCredentials, BusOptions, BusServer, BusStatus, Register};
pub use peer::{Incarnation, PeerAddress, PeerId, Way};
pub use pins::Pins;
pub use shared::{LogStatus, MeshOptions, PeerStatus};
pub use wire::Receiver;
