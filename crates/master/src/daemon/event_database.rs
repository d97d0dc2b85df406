//! `event_return` into a database in the layout of Salt's returners, without
//! Python.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use halite_proto::event::Event;
use halite_store::{BackendOptions, Events, StoredEvent};

use crate::error::chain;

/// A database that gets the events.
#[derive(Clone, Debug)]
pub(super) struct EventDatabase {
    /// The name of the returner.
    name: String,
    place: BackendOptions,
    events: Option<Arc<Events>>,
}

impl EventDatabase {
    /// The database of a returner, not opened yet.
    pub(super) fn new(name: &str, place: BackendOptions) -> Self {
        Self {
            name: name.to_owned(),
            place,
            events: None,
        }
    }

    /// Opens what waits for it below a directory.
    pub(super) fn open(&mut self, waiting: &Path, master: &str) -> Option<Arc<Events>> {
        let dir = waiting.join(format!("events-{}", self.name));
        match Events::open(&self.place, &dir, master) {
            Ok(events) => self.events = events.map(Arc::new),
            Err(error) => tracing::error!(
                "{}: cannot store events, as their spool could not be opened: {}",
                self.name,
                chain(&error)
            ),
        }
        self.events.clone()
    }

    /// Stores events, or lets them wait.
    pub(super) fn save(&self, events: &[Event]) -> Result<(), String> {
        let Some(open) = &self.events else {
            return Err(format!("{}: could not be opened", self.name));
        };
        let at = SystemTime::now();
        let events: Vec<StoredEvent> = events
            .iter()
            .map(|event| StoredEvent {
                tag: event.tag.to_string(),
                data: event.data.clone(),
                at,
            })
            .collect();
        let saved = open.save(&events);
        saved.map_err(|error| format!("{}: {}", self.name, chain(&error)))
    }
}
