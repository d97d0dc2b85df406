//! The copy on disk of the keys on a server.
//!
//! Invariant: data fetched before this master's own last change never overwrites
//! it, and the copy accepts only keys that the server had accepted.

use std::collections::{HashMap, HashSet};
use std::sync::{MutexGuard, PoisonError};

use halite_proto::MinionId;

use super::record::Record;
use super::{CachedKeys, Digest};
use crate::error::KeyStoreError;
use crate::local_fs::LocalFs;
use crate::state::KeyState;

/// The last state read from the server.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The mirror's record of each minion, once it was written or compared.
    pub(super) mirrored: HashMap<MinionId, Record>,
    /// Minions of which the mirror may have something; `None` until it was
    /// listed. Strangers without a key are in none of these.
    pub(super) in_mirror: Option<HashSet<MinionId>>,
    /// Counts this master's own changes: what was fetched before one may be
    /// older than it.
    pub(super) changes: u64,
    /// States by minion, with when they were stored and read.
    pub(super) states: HashMap<MinionId, Listed>,
}

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) stamp: i64,
    pub(super) read_s: i64,
    pub(super) state: Option<KeyState>,
    /// Of the key.
    pub(super) digest: Option<Digest>,
}

impl CachedKeys {
    /// The mirror's answer if the server is to blame for an error.
    pub(super) fn while_away<T>(
        &self,
        error: KeyStoreError,
        ask: impl FnOnce(&LocalFs) -> Result<T, KeyStoreError>,
    ) -> Result<T, KeyStoreError> {
        match &self.0.mirror {
            Some(mirror) if error.is_of_server() => ask(mirror),
            _ => Err(error),
        }
    }

    /// Writes to the mirror what was read of a minion after this number of our own
    /// changes; false if there was another one since.
    pub(super) fn mirror(&self, changes: u64, id: &MinionId, record: Option<&Record>) -> bool {
        let mut seen = self.seen();
        let is_newest = seen.changes == changes;
        if is_newest {
            self.mirror_seen(&mut seen, id, record);
        }
        is_newest
    }

    /// Writes to the mirror what this master has just stored or removed.
    pub(super) fn mirror_change(&self, id: &MinionId, record: Option<&Record>) {
        let mut seen = self.seen();
        seen.changes += 1;
        self.mirror_seen(&mut seen, id, record);
    }

    /// A mirror that cannot be written is said and tried again with the next
    /// look.
    pub(super) fn mirror_seen(&self, seen: &mut Seen, id: &MinionId, record: Option<&Record>) {
        let Some(mirror) = &self.0.mirror else { return };
        if seen.in_mirror.is_none() {
            seen.in_mirror = in_mirror(mirror);
        }
        let is_known = match record {
            Some(record) => seen.mirrored.get(id) == Some(record),
            None => seen.in_mirror.as_ref().is_some_and(|ids| !ids.contains(id)),
        };
        if is_known {
            return;
        }
        // Half of it may be done if it fails.
        seen.mirrored.remove(id);
        if let Some(ids) = &mut seen.in_mirror {
            ids.insert(id.clone());
        }
        match (put(mirror, id, record), record) {
            (Ok(()), Some(record)) => drop(seen.mirrored.insert(id.clone(), record.clone())),
            (Ok(()), None) => {
                if let Some(ids) = &mut seen.in_mirror {
                    ids.remove(id);
                }
            }
            (Err(error), _) => tracing::warn!(minion = %id, %error, "could not mirror a key"),
        }
    }

    /// Removes keys from the mirror that the server does not list.
    pub(super) fn drop_from_mirror(
        &self,
        changes: u64,
        listed: &HashMap<MinionId, i64>,
    ) -> Result<(), KeyStoreError> {
        let Some(mirror) = &self.0.mirror else {
            return Ok(());
        };
        let there = KeyState::LOOKUP.map(|state| mirror.list(state).unwrap_or_default());
        let gone = there.into_iter().flatten();
        let gone: Vec<MinionId> = gone.filter(|id| !listed.contains_key(id)).collect();
        self.note_removed(&gone)?;
        for id in &gone {
            self.mirror(changes, id, None);
        }
        Ok(())
    }

    /// Whether there may be a copy of a minion's key.
    pub(super) fn may_be_in_mirror(&self, id: &MinionId) -> bool {
        let Some(mirror) = &self.0.mirror else {
            return false;
        };
        let mut seen = self.seen();
        if seen.in_mirror.is_none() {
            seen.in_mirror = in_mirror(mirror);
        }
        seen.in_mirror.as_ref().is_none_or(|ids| ids.contains(id))
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An accepted key is removed before a stricter state is written, and written before a
/// stricter state is removed: with a full disk nobody is accepted wrongly.
fn put(mirror: &LocalFs, id: &MinionId, record: Option<&Record>) -> Result<(), KeyStoreError> {
    if record.is_none_or(|record| record.state != KeyState::Accepted) {
        mirror.remove(KeyState::Accepted, id)?;
    }
    if let Some(record) = record {
        // A copy that an earlier process has made is left as it is, and a key that was
        // replaced does not come back with a power cut.
        match mirror.read(record.state, id) {
            Ok(Some(known)) if known == record.pem => {}
            Ok(None) => mirror.write_copy(record.state, id, &record.pem)?,
            Ok(Some(_)) | Err(_) => mirror.write(record.state, id, &record.pem)?,
        }
    }
    for state in KeyState::LOOKUP {
        if record.is_none_or(|record| record.state != state) {
            mirror.remove(state, id)?;
        }
    }
    Ok(())
}

/// The minions of which there is something in a mirror; `None` if it cannot be
/// listed.
fn in_mirror(mirror: &LocalFs) -> Option<HashSet<MinionId>> {
    let mut ids = HashSet::new();
    for state in KeyState::LOOKUP {
        ids.extend(mirror.list(state).ok()?);
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_copy_that_is_there_is_not_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let mirror = LocalFs::in_dir(dir.path(), None);
        mirror.make().unwrap();
        let web = MinionId::parse("web1").unwrap();
        let write = |pem: &str| {
            put(&mirror, &web, Some(&Record::new(KeyState::Accepted, pem))).unwrap();
            mirror.version(KeyState::Accepted, &web).unwrap()
        };
        let first = write("key");
        assert_eq!(write("key"), first);
        assert_ne!(write("another key"), first);
        assert_eq!(
            mirror.read(KeyState::Accepted, &web).unwrap().as_deref(),
            Some("another key")
        );
    }

    #[test]
    fn who_is_rejected_is_not_accepted_even_if_that_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let mirror = LocalFs::in_dir(dir.path(), None);
        mirror.make().unwrap();
        let web = MinionId::parse("web1").unwrap();
        put(&mirror, &web, Some(&Record::new(KeyState::Accepted, "key"))).unwrap();
        let rejected = dir.path().join(KeyState::Rejected.dir_name());
        fs::remove_dir(&rejected).unwrap();
        fs::write(&rejected, "no directory").unwrap();
        put(&mirror, &web, Some(&Record::new(KeyState::Rejected, "key"))).unwrap_err();
        assert_eq!(mirror.read(KeyState::Accepted, &web).unwrap(), None);
    }
}
