//! Events of a master's bus, in the table of Salt's returners on a database
//! (`event_return`).
//!
//! Invariant: events that the database does not take wait on disk and are stored in
//! order, once: each batch of events has an id, which the database knows.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite_proto::msgpack::{Packing, pack_map, unpack_modern};
use halite_proto::{Map, Value};
use halite_spool::{Pending, SpoolError};
use halite_store_servers::with_patience;

use crate::backend::BackendOptions;
use crate::backlog::{Backlog, Destination, Waits};
use crate::error::{StoreError, chain};
use crate::event_batch::Batch;
use crate::limits::{EVENTS_AT_ONCE_MAX, EVENTS_BYTES_AT_ONCE_MAX, WAITING_OPERATION_TIME};
use crate::salt_json;

/// Longest tag in Salt's column, in characters.
const TAG_CHARS_MAX: usize = 255;

/// An event that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its tag; what is longer than Salt's column is cut off.
    pub tag: String,
    /// Its data.
    pub data: Map,
    /// When it happened.
    pub at: SystemTime,
}

/// The events of one master on a database.
#[derive(Debug)]
pub struct Events {
    // Before what it gives them to: its thread ends first.
    backlog: Backlog,
    database: Arc<Database>,
    place: BackendOptions,
}

#[derive(Debug)]
struct Database {
    place: String,
    master: String,
    tables: EventTables,
}

#[derive(Debug)]
enum EventTables {
    #[cfg(feature = "mysql")]
    Mysql(crate::mysql::Jobs),
    #[cfg(feature = "postgres")]
    Postgres(crate::postgres::Jobs),
    #[cfg(not(any(feature = "mysql", feature = "postgres")))]
    NoDatabase(std::convert::Infallible),
}

impl Events {
    /// The events of a master in a database; `None` if the place is not one. Events that
    /// the database does not accept wait in `dir`.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn open(
        place: &BackendOptions,
        dir: &Path,
        master: &str,
    ) -> Result<Option<Self>, SpoolError> {
        let tables = match place {
            #[cfg(feature = "mysql")]
            BackendOptions::Mysql(options) => EventTables::Mysql(crate::mysql::Jobs::new(options)),
            #[cfg(feature = "postgres")]
            BackendOptions::Postgres(options) => {
                EventTables::Postgres(crate::postgres::Jobs::new(options))
            }
            _ => return Ok(None),
        };
        let database = Arc::new(Database {
            place: place.status().place,
            master: master.to_owned(),
            tables,
        });
        let backlog = Backlog::open(dir, &database, |_| {})?;
        Ok(Some(Self {
            backlog,
            database,
            place: place.clone(),
        }))
    }

    /// Stores events, or lets them wait.
    ///
    /// # Errors
    /// When they can neither be stored nor wait, or one cannot be written as
    /// JSON: the others are stored.
    pub fn save(&self, events: &[StoredEvent]) -> Result<(), StoreError> {
        let mut first_error = Ok(());
        for batch in batches(events, &mut first_error) {
            let saved = self.save_batch(&batch);
            first_error = first_error.and(saved);
        }
        first_error
    }

    fn save_batch(&self, batch: &Batch) -> Result<(), StoreError> {
        let why = match self.backlog.is_idle() {
            false => None,
            true => match self.database.store(batch) {
                Err(error) if error.is_of_server() => Some(error),
                done => return done,
            },
        };
        let packed = pack_map(&batch.to_map(), Packing::Modern);
        let packed = packed.map_err(|source| StoreError::pack("events", source))?;
        let reason = why.as_ref().map(|error| chain(error));
        match self
            .backlog
            .push(&packed, reason.as_deref().unwrap_or_default())
        {
            Some(_) => Ok(()),
            None => Err(why.unwrap_or_else(|| StoreError::TooLarge {
                place: format!("the spool of {}", self.database.place),
                bytes: packed.len(),
                max: packed.len().saturating_sub(1),
            })),
        }
    }

    /// The state of the waiting events.
    pub fn waits(&self) -> Waits {
        self.backlog.waits()
    }

    /// Where they are stored.
    pub fn place(&self) -> &BackendOptions {
        &self.place
    }
}

/// Events in statements of a bounded size.
fn batches(events: &[StoredEvent], error: &mut Result<(), StoreError>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut bytes = 0;
    for event in events {
        let data = match salt_json::write(&event.tag, &event.data.clone().into()) {
            Ok(data) => data,
            Err(failed) => {
                *error = Err(failed);
                continue;
            }
        };
        bytes += data.len();
        let is_full = batches.last().is_none_or(|batch| {
            batch.tags.len() >= EVENTS_AT_ONCE_MAX || bytes > EVENTS_BYTES_AT_ONCE_MAX
        });
        if is_full {
            bytes = data.len();
            batches.push(Batch::new());
        }
        if let Some(batch) = batches.last_mut() {
            let tag = event.tag.replace('\0', "\u{fffd}");
            batch.tags.push(tag.chars().take(TAG_CHARS_MAX).collect());
            batch.data.push(data);
            let at = event.at.duration_since(UNIX_EPOCH).unwrap_or_default();
            batch.times.push(at.as_secs_f64());
        }
    }
    batches
}

impl Database {
    fn store(&self, batch: &Batch) -> Result<(), StoreError> {
        match &self.tables {
            #[cfg(feature = "mysql")]
            EventTables::Mysql(tables) => tables.save_events(batch, &self.master),
            #[cfg(feature = "postgres")]
            EventTables::Postgres(tables) => tables.save_events(batch, &self.master),
            #[cfg(not(any(feature = "mysql", feature = "postgres")))]
            EventTables::NoDatabase(none) => match *none {},
        }
    }
}

impl Destination for Database {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn deliver(&self, waiting: &[Pending]) -> Vec<Result<(), StoreError>> {
        let mut outcomes = Vec::new();
        for pending in waiting {
            let batch = match unpack_modern(&pending.payload) {
                Ok(Value::Map(map)) => Batch::from_map(&map),
                _ => None,
            };
            let outcome = match batch {
                Some(batch) => with_patience(WAITING_OPERATION_TIME, || self.store(&batch)),
                None => {
                    tracing::error!(
                        sequence = pending.sequence,
                        "skipping an entry in the spool of the store that is not a batch of events"
                    );
                    Ok(())
                }
            };
            let is_away = outcome.as_ref().is_err_and(|error| !error.is_answer());
            outcomes.push(outcome);
            if is_away {
                break;
            }
        }
        outcomes
    }

    fn parted(&self, payload: &[u8]) -> Option<[Vec<u8>; 2]> {
        let Ok(Value::Map(map)) = unpack_modern(payload) else {
            return None;
        };
        let halves = Batch::from_map(&map)?.halves()?;
        let packed = halves.map(|half| pack_map(&half.to_map(), Packing::Modern));
        let [Ok(first), Ok(second)] = packed else {
            return None;
        };
        Some([first, second])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tag: &str, bytes: usize) -> StoredEvent {
        StoredEvent {
            tag: tag.to_owned(),
            data: Map::from([("x", "y".repeat(bytes))]),
            at: UNIX_EPOCH + std::time::Duration::from_millis(1500),
        }
    }

    #[test]
    fn a_batch_waits_as_it_is() {
        let mut error = Ok(());
        let mut found = batches(&[event("a", 1), event(&"long".repeat(100), 1)], &mut error);
        error.unwrap();
        let batch = found.remove(0);
        assert!(found.is_empty());
        assert_eq!(batch.tags[1].len(), TAG_CHARS_MAX);
        assert_eq!(
            (batch.data[0].as_str(), batch.times[0]),
            (r#"{"x": "y"}"#, 1.5)
        );
        assert_eq!(Batch::from_map(&batch.to_map()), Some(batch.clone()));
        let mut short = batch.to_map();
        short.insert("times", Value::List(Vec::new()));
        assert_eq!(Batch::from_map(&short), None);
    }

    #[test]
    fn a_batch_is_halved_down_to_single_events() {
        let events: Vec<_> = (0..3).map(|n| event(&n.to_string(), 1)).collect();
        let batch = batches(&events, &mut Ok(())).remove(0);
        let [first, second] = batch.clone().halves().unwrap();
        assert_eq!(
            (first.tags.join(""), second.tags.join("")),
            ("0".into(), "12".into())
        );
        assert_eq!((second.data.len(), second.times.len()), (2, 2));
        assert!(first.id != second.id && first.id != batch.id);
        assert_eq!(batch.halves(), Some([first.clone(), second]));
        assert_eq!(first.halves(), None);
    }

    #[test]
    fn large_events_go_alone() {
        let large = EVENTS_BYTES_AT_ONCE_MAX;
        let events = [
            event("a", 1),
            event("b", large),
            event("c", 1),
            event("d", 1),
        ];
        let found = batches(&events, &mut Ok(()));
        let tags: Vec<_> = found.iter().map(|batch| batch.tags.join("")).collect();
        assert_eq!(tags, ["a", "b", "cd"]);
    }
}
