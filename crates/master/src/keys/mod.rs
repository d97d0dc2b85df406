//! Keys of minions, their sessions, and the keys of local users.

pub(crate) mod accepted;
pub(crate) mod local_keys;
pub(crate) mod sessions;
