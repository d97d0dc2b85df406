//! What gets the events of a daemon besides the subscribers of its bus.

use std::fmt;

use super::bus_event::BusEvent;

/// It is called for each event.
pub(super) struct Forward(Box<dyn Fn(&BusEvent) + Send + Sync>);

impl Forward {
    pub(super) fn to(forward: impl Fn(&BusEvent) + Send + Sync + 'static) -> Self {
        Self(Box::new(forward))
    }

    pub(super) fn event(&self, event: &BusEvent) {
        (self.0)(event);
    }
}

impl fmt::Debug for Forward {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Forward")
    }
}
