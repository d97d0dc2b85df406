//! What the masters of a cluster agree on, and how, without any socket, file or
//! clock.
//!
//! Masters keep minion keys, the members of the cluster and the publish key in
//! [`Registers`]: each decision is stamped by a hybrid clock, and two states merge
//! to the same third one in whatever order, and however often, they meet. [`Sync`]
//! says what two masters send each other to merge them, [`join`] is how a master
//! becomes a member, [`data`] how masters share what they know about minions,
//! [`roots`] how one sends its files to the others, and [`under_way`] how they know
//! what is lost with one of them.
//!
//! Invariant: a master that knows that a key was rejected or deleted does not
//! accept it again until somebody who also knows of it accepts it. This holds
//! whatever clocks say, and whatever is lost, repeated or late.

pub mod clock;
pub mod data;
mod delta;
mod encoding;
mod entry;
#[doc(hidden)]
pub mod fuzzing;
pub mod join;
pub mod limits;
mod peer;
mod publish_key;
mod registers;
pub mod roots;
mod sync;
mod table;
pub mod under_way;

pub use clock::{ClockAhead, HybridClock, Stamp};
pub use delta::{Delta, Digest};
pub use encoding::DecodeError;
pub use entry::{Grant, GrantKind, Standing};
pub use peer::PeerId;
pub use publish_key::PublishKey;
pub use registers::{Decision, MergeError, Merged, RegisterError, Registers};
pub use sync::{Message, Output, Sync};
