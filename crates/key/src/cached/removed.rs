//! Keys that were removed: the marks of their records, in a bank of our own.
//! Without it the other masters would see only that the keys are gone.

use std::sync::atomic::Ordering;

use halite_proto::msgpack::unpack_modern;
use halite_proto::{MinionId, Value};
use halite_store::limits::FETCHED_AT_ONCE_MAX;

use super::ended::By;
use super::record::{Mark, packed};
use super::{CachedKeys, KEYS};
use crate::error::KeyStoreError;
use crate::limits::{REMOVED_KEYS_MAX, REMOVED_LOOK_INTERVAL};

const REMOVED: &str = "halite_removed_keys";

impl CachedKeys {
    /// Removes a minion's record, and records for the other masters that it was removed.
    /// If the server is full and does not accept that record, the key is removed anyway.
    pub(super) fn remove_marked(
        &self,
        id: &MinionId,
        mark: Option<&Mark>,
    ) -> Result<bool, KeyStoreError> {
        let cache = &self.0.cache;
        if let Some(mark) = mark {
            let bytes = packed(&Value::from(mark.as_str()))?;
            if let Err(error) = cache.store(REMOVED, id.as_str(), bytes) {
                tracing::warn!(
                    minion = %id, %error,
                    "could not record which key was removed, the other masters do not learn of it"
                );
            }
        }
        let was_there = cache.flush_key(KEYS, id.as_str())?;
        if let Some(mark) = mark {
            self.ended().record_end(id, mark, By::Deletion);
        }
        let removed = self.0.removed.fetch_add(1, Ordering::Relaxed);
        if removed.is_multiple_of(REMOVED_LOOK_INTERVAL) {
            self.drop_oldest_removed();
        }
        Ok(was_there)
    }

    /// Finds out which of some missing keys were removed deliberately.
    pub(super) fn note_removed(&self, gone: &[MinionId]) -> Result<(), KeyStoreError> {
        for ids in gone.chunks(FETCHED_AT_ONCE_MAX) {
            let names: Vec<String> = ids.iter().map(MinionId::to_string).collect();
            self.0
                .cache
                .fetch_each(REMOVED, &names, &mut |number, bytes| {
                    let mark = bytes.and_then(|bytes| mark(&bytes));
                    if let Some((id, mark)) = ids.get(number).zip(mark) {
                        self.ended().record_end(id, &mark, By::Deletion);
                    }
                })?;
        }
        Ok(())
    }

    /// The other masters have heard of them long since.
    fn drop_oldest_removed(&self) {
        let Ok(mut stamps) = self.0.cache.stamps(REMOVED) else {
            return;
        };
        let beyond = stamps.len().saturating_sub(REMOVED_KEYS_MAX);
        stamps.sort_unstable_by_key(|(_, stamp)| *stamp);
        for (name, _) in stamps.into_iter().take(beyond) {
            if let Err(error) = self.0.cache.flush_key(REMOVED, &name) {
                tracing::debug!(%error, "too many removed keys are recorded");
                return;
            }
        }
    }
}

fn mark(bytes: &[u8]) -> Option<Mark> {
    match unpack_modern(bytes) {
        Ok(Value::Str(text)) => Mark::parse(&text),
        _ => None,
    }
}
