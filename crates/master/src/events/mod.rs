//! The event bus, the events of minions, and the rules by which events trigger
//! reactions.

pub(crate) mod bus;
#[cfg(test)]
mod fired;
pub(crate) mod minion_events;
pub(crate) mod reactor_rules;
