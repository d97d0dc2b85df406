//! Which keys are on the server.

use std::collections::HashMap;

use halite_process::clock::unix_timestamp;
use halite_proto::MinionId;
use halite_store::limits::{FETCHED_AT_ONCE_MAX, STAMP_SETTLED_S};

use super::mirror::Listed;
use super::record::Record;
use super::{CachedKeys, DENIED, Digest, KEYS, digest};
use crate::error::KeyStoreError;
use crate::state::KeyState;

impl CachedKeys {
    pub(crate) fn list(&self, state: KeyState) -> Result<Vec<MinionId>, KeyStoreError> {
        if state == KeyState::Denied {
            let names = self.0.cache.keys(DENIED)?;
            return Ok(names.iter().filter_map(|name| listable(name)).collect());
        }
        match self.list_on_server(state) {
            Ok(known) => Ok(known.into_iter().map(|(id, _)| id).collect()),
            Err(error) => self.while_away(error, |mirror| mirror.list(state)),
        }
    }

    /// As `list`, with the version of each key; without one while the server is away.
    pub(crate) fn list_versions(
        &self,
        state: KeyState,
    ) -> Result<Vec<(MinionId, Option<Digest>)>, KeyStoreError> {
        if state == KeyState::Denied {
            return Ok(self.list(state)?.into_iter().map(|id| (id, None)).collect());
        }
        self.list_on_server(state).or_else(|error| {
            let ids = self.while_away(error, |mirror| mirror.list(state))?;
            Ok(ids.into_iter().map(|id| (id, None)).collect())
        })
    }

    /// Only the keys that were stored since the last look are fetched.
    fn list_on_server(
        &self,
        state: KeyState,
    ) -> Result<Vec<(MinionId, Option<Digest>)>, KeyStoreError> {
        let now_s = unix_timestamp();
        let changes = self.seen().changes;
        let stamps = self.0.cache.stamps(KEYS)?;
        let stamps = stamps
            .into_iter()
            .filter_map(|(name, stamp)| Some((listable(&name)?, stamp)));
        let stamps: HashMap<MinionId, i64> = stamps.collect();
        let changed: Vec<(MinionId, i64)> = {
            let mut seen = self.seen();
            seen.states.retain(|id, _| stamps.contains_key(id));
            let is_kept = |(id, stamp): &(&MinionId, &i64)| {
                seen.states.get(*id).is_some_and(|known| {
                    known.stamp == **stamp && known.read_s >= stamp.saturating_add(STAMP_SETTLED_S)
                })
            };
            let changed = stamps.iter().filter(|it| !is_kept(it));
            changed.map(|(id, stamp)| (id.clone(), *stamp)).collect()
        };
        for part in changed.chunks(FETCHED_AT_ONCE_MAX) {
            let names: Vec<String> = part.iter().map(|(id, _)| id.to_string()).collect();
            let changes = self.seen().changes;
            self.0
                .cache
                .fetch_each(KEYS, &names, &mut |number, bytes| {
                    let Some((id, stamp)) = part.get(number) else {
                        return;
                    };
                    let record = bytes.and_then(|bytes| Record::read(&bytes));
                    let record = record.and_then(|record| self.believed(id, record));
                    let is_newest = self.mirror(changes, id, record.as_ref());
                    let listed = Listed {
                        stamp: *stamp,
                        // What may be old is fetched with the next look again.
                        read_s: if is_newest { now_s } else { 0 },
                        state: record.as_ref().map(|record| record.state),
                        digest: record.map(|record| digest(record.pem.as_bytes())),
                    };
                    self.seen().states.insert(id.clone(), listed);
                })?;
        }
        self.drop_from_mirror(changes, &stamps)?;
        let seen = self.seen();
        let of_state = seen.states.iter().filter(|(_, it)| it.state == Some(state));
        Ok(of_state.map(|(id, it)| (id.clone(), it.digest)).collect())
    }
}

fn listable(name: &str) -> Option<MinionId> {
    let id = MinionId::parse(name).ok()?;
    (!name.starts_with('.')).then_some(id)
}
