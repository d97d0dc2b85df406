//! The event bus, and where events go beside it.

pub(crate) mod bus;
pub(crate) mod event_returns;
