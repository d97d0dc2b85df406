//! Which minions are connected to a publish port, as they say themselves.

use std::fmt;
use std::sync::Arc;

use halite_proto::MinionId;

/// What a publish port learns of a minion's subscription. Anybody can
/// subscribe under any name, so it informs and proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresenceEvent {
    /// The minion is subscribed. The event may be repeated while that lasts.
    Here(MinionId),
    /// The last subscription of the minion has ended.
    Gone(MinionId),
    /// The subscription stands, but the minion has stopped saying that it is
    /// there: its cable is cut, or its machine has stopped.
    Silent(MinionId),
}

/// Receives the presence events of a publish port. It is called on the port's
/// tasks, under a lock of the port, and must neither block nor publish.
#[derive(Clone)]
pub struct PresenceWatch(Arc<dyn Fn(PresenceEvent) + Send + Sync>);

impl PresenceWatch {
    /// Calls `on_event` with every event, in order.
    pub fn new(on_event: impl Fn(PresenceEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(on_event))
    }

    pub(crate) fn emit(&self, event: PresenceEvent) {
        (self.0)(event);
    }
}

impl fmt::Debug for PresenceWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresenceWatch")
    }
}
