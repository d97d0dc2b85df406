//! Peers for tests with their own implementation of the wire.
//!
//! Invariant: nothing here uses the code under test for the wire: the codec and the
//! sockets are written a second time, small and blocking, so that a mistake in the
//! one does not hide in the other. (The cryptography is `halite-crypto`, which has
//! its own vectors of real Salt.)

pub mod msgpack;
#[cfg(feature = "wire")]
pub mod stand_in;
#[cfg(feature = "wire")]
pub mod stand_in_master;
pub mod zmtp;
