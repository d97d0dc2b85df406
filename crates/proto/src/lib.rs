//! The wire between masters and minions: values, ids, messages and events.
//!
//! Nothing here does I/O, reads a clock or draws a random number, so every decoder
//! can be fuzzed and every message compared byte for byte.
//!
//! Invariant: a typed message or id that exists is well formed; data from the
//! network is checked while it is decoded, never later.

pub mod appointment;
pub mod auth;
pub mod capabilities;
mod chain;
pub mod chance;
pub mod clear;
mod cluster_name;
mod commits;
pub mod envelope;
pub mod event;
mod fields;
mod frame;
pub mod ids;
pub mod json;
pub mod key_changes;
pub mod limits;
pub mod msgpack;
mod new_ids;
pub mod pieces;
pub mod pillar;
pub mod presence;
pub mod publish;
pub mod publisher;
pub mod python;
pub mod refusal;
pub mod reply;
pub mod request;
pub mod returns;
pub mod shown;
pub mod stream;
pub mod time;
mod transport;
mod trim;
pub mod value;

pub use appointment::{Appointment, ComeAgain};
pub use capabilities::Capabilities;
pub use chain::chain;
pub use cluster_name::{add_cluster_name, cluster_name_of};
pub use envelope::ENVELOPE_VERSION;
pub use fields::MessageError;
pub use ids::{Fun, IdError, Jid, MasterUri, MinionId, Nonce, SaltEnv, Tag};
pub use msgpack::{PackError, UnpackError};
pub use new_ids::NewIds;
pub use presence::{SignAnswer, SignOfLife};
pub use publisher::PublisherId;
pub use refusal::Refusal;
pub use transport::Transport;
pub use value::{Map, Value};

/// The release of Salt whose ways are followed, as programs are told it.
pub const SALT_RELEASE: &str = "3008.5";
