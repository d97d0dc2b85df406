//! Finds decisions that were made in the key store.

use std::collections::{BTreeMap, BTreeSet};

use halite_cluster::{Decision, Standing};
use halite_crypto::{PublicKey, clean_key};
use halite_key::{KeyState, KeyVersion};
use halite_proto::MinionId;

use super::{Looked, StoreMirror};
use crate::error::chain;
use crate::limits::{REGISTERS_LEFT_OUT_LOGGED_MAX, REGISTERS_LOOKS_SKIPPED_MAX};
use crate::registers::RegistersError;

impl StoreMirror {
    /// Records the decisions made in the store since the last look; returns the minions
    /// concerned.
    ///
    /// # Errors
    /// When the store cannot be listed, and nothing is taken for decided; or when
    /// the registers cannot be written, which is tried again. One key that cannot be
    /// read or held is left out and logged.
    pub(in crate::registers) fn look(
        &mut self,
        wall: u64,
    ) -> Result<Vec<MinionId>, RegistersError> {
        if self.given.is_some() {
            return Ok(Vec::new());
        }
        let version = |state| self.store.listing_version(state);
        let lists: Vec<Option<KeyVersion>> = KeyState::ALL.map(version).to_vec();
        // Two changes may follow each other faster than the clock of files moves.
        let is_same = lists == self.lists && lists.iter().all(Option::is_some);
        if is_same && self.skipped < REGISTERS_LOOKS_SKIPPED_MAX {
            self.skipped += 1;
            return Ok(Vec::new());
        }
        self.skipped = 0;
        if !self.kept.is_there() {
            return Err(RegistersError::Gone);
        }
        let mut found = BTreeMap::new();
        let mut left_out = BTreeMap::new();
        let listing = self.store.list_all()?;
        for (state, ids) in listing.iter() {
            for id in ids {
                match self.store.version(state, id) {
                    Ok(version) => {
                        found.insert((state, id.clone()), version);
                    }
                    Err(error) => {
                        left_out.insert(id.clone(), error.into());
                    }
                }
            }
        }
        let mut decided = Vec::new();
        for id in self.changed(&found) {
            if left_out.contains_key(&id) {
                continue;
            }
            let own = self.decide_own(&id, wall);
            let denied = self.decide_denied(&id, wall);
            if matches!(own, Ok(true)) || matches!(denied, Ok(true)) {
                decided.push(id.clone());
            }
            if let Err(error) = own.and(denied) {
                left_out.insert(id, error);
            }
        }
        // They are looked at again the next time.
        found.retain(|(_, id), _| !left_out.contains_key(id));
        self.note_left_out(left_out);
        self.looked = found;
        self.lists = lists;
        self.unsettled.minions.extend(decided.iter().cloned());
        self.keep()?;
        Ok(decided)
    }

    /// The minions of which the store may say something else than at the last look,
    /// or than the registers. It does where it has yet to show what those say.
    fn changed(&self, found: &Looked) -> BTreeSet<MinionId> {
        let is_new = |key: &_, version| self.looked.get(key) != Some(version);
        let new = found.iter().filter(|(key, version)| is_new(*key, *version));
        let gone = self.looked.keys().filter(|key| !found.contains_key(*key));
        let changed = new.map(|(key, _)| key).chain(gone).map(|(_, id)| id);
        let is_gone = |(id, standing): &(&MinionId, Standing<'_>)| {
            let is_there = |state| found.contains_key(&(state, (*id).clone()));
            *standing != Standing::Absent && !KeyState::LOOKUP.into_iter().any(is_there)
        };
        let lost = self.registers.minions().filter(is_gone).map(|(id, _)| id);
        let all = changed.chain(lost);
        all.filter(|id| !self.unsettled.pending.contains(*id))
            .cloned()
            .collect()
    }

    /// Logs once whose keys the registers cannot hold, the first few by name: anybody
    /// can send keys.
    fn note_left_out(&mut self, left_out: BTreeMap<MinionId, RegistersError>) {
        let is_new = |id: &MinionId| !self.left_out.contains(id);
        let new = left_out.iter().filter(|(id, _)| is_new(id));
        let count = new.clone().count();
        for (id, error) in new.take(REGISTERS_LEFT_OUT_LOGGED_MAX) {
            tracing::error!(
                minion = %id,
                "the state of the key is not shared with the cluster: {}",
                chain(error)
            );
        }
        if count > REGISTERS_LEFT_OUT_LOGGED_MAX {
            let more = count - REGISTERS_LEFT_OUT_LOGGED_MAX;
            tracing::error!("the states of {more} more keys are not shared with the cluster");
        }
        self.left_out = left_out.into_keys().collect();
    }

    /// Whether the registers say something else of a minion's own key than the
    /// store, which is then decided.
    fn decide_own(&mut self, id: &MinionId, wall: u64) -> Result<bool, RegistersError> {
        let stored = self.store.lookup(id)?;
        let key = match (&stored, self.registers.key(id)) {
            (None, Standing::Absent) => return Ok(false),
            (None, _) => return Ok(self.registers.decide(id, Decision::Delete, wall)?),
            (Some(key), standing) => match (key.state, standing) {
                (KeyState::Accepted, Standing::Accepted(known))
                | (KeyState::Pending, Standing::Pending(known))
                | (KeyState::Rejected, Standing::Rejected(known))
                    if key.is_same_key(known) =>
                {
                    return Ok(false);
                }
                _ => key,
            },
        };
        let pem = canonical(&key.pem)?;
        let decision = match key.state {
            KeyState::Accepted => Decision::Accept(&pem),
            KeyState::Rejected => Decision::Reject(&pem),
            KeyState::Pending | KeyState::Denied => Decision::Pend(&pem),
        };
        Ok(self.registers.decide(id, decision, wall)?)
    }

    /// The same for the key that came for the id of another one.
    fn decide_denied(&mut self, id: &MinionId, wall: u64) -> Result<bool, RegistersError> {
        let pem;
        let stored = self.store.get(KeyState::Denied, id)?;
        let decision = match (stored, self.registers.denied_key(id)) {
            (Some(key), Some(known)) if clean_key(&key) == clean_key(known) => return Ok(false),
            (Some(key), _) => {
                pem = canonical(&key)?;
                Decision::Deny(&pem)
            }
            (None, Some(_)) => Decision::ClearDenied,
            (None, None) => return Ok(false),
        };
        Ok(self.registers.decide(id, decision, wall)?)
    }
}

/// The canonical text of a key, without anything around it in the store, so that all
/// registers hold the same.
fn canonical(pem: &str) -> Result<String, RegistersError> {
    let key = PublicKey::from_pem(pem).and_then(|key| key.clean_pem());
    key.map_err(RegistersError::Unusable)
}
