//! Events that minions fire on the master's bus.

use std::sync::{Arc, Mutex, PoisonError};

use halite_proto::MinionId;
use halite_proto::request::Batches;

use super::bus::Bus;
use crate::core::event_batches::EventBatches;

/// The bus, for events that come from minions.
pub(crate) struct MinionEvents {
    pub(crate) bus: Arc<Bus>,
    /// The batches of events that minions have sent.
    batches: Mutex<EventBatches>,
}

impl MinionEvents {
    /// For this bus.
    pub(crate) fn new(bus: Arc<Bus>) -> Self {
        Self {
            bus,
            batches: Mutex::default(),
        }
    }

    /// Whether a batch comes for the first time: it comes again where the answer
    /// to it was lost.
    pub(crate) fn first_seen(&self, id: &MinionId, batches: &Batches) -> bool {
        let mut known = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        known.first_seen(id, batches)
    }
}
