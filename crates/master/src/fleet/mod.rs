//! Which minions are connected.

pub(crate) mod attendance;
pub(crate) mod connected;
