//! The links between the masters of a cluster: each master tells all others
//! what happens at it, in order, and what a peer has missed it is told when it
//! is back.
//!
//! Each master dials its peers and sends over the connections that it has
//! dialled ([ADR 0013]); a peer acknowledges on the same connection what it has
//! handled. Connections are TLS 1.3 with the masters' own keys, pinned to the
//! files of [`Pins`].
//!
//! Invariants: nothing of a connection is handed on before the key of its other
//! end was found among the pins; what one peer tells is handed on once and in
//! its order; telling never waits. No `openssl` type leaves `tls`.
//!
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
mod peer;
mod pins;
mod shared;
mod tls;
mod wire;

pub use accept::Listener;
pub use error::MeshError;
pub use join::{Conversation, JoinLink, Joins, Turn, converse};
pub use mesh::Mesh;
pub use peer::{Incarnation, PeerAddress, PeerId};
pub use pins::Pins;
pub use shared::{LogStatus, MeshOptions, PeerStatus};
pub use wire::Receiver;
