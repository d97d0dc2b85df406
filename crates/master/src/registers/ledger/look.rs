//! Decisions that were made in the key store.

use std::collections::{BTreeMap, BTreeSet};

use halite_cluster::{Decision, Standing};
use halite_crypto::clean_key;
use halite_key::{KeyState, KeyVersion};
use halite_proto::MinionId;

use super::Ledger;
use crate::limits::REGISTERS_LOOKS_SKIPPED_MAX;
use crate::registers::RegistersError;

impl Ledger {
    /// Keeps what was decided in the store since the last look; the minions
    /// concerned.
    ///
    /// # Errors
    /// When the store cannot be read, or the registers not be written; nothing is
    /// taken for decided then.
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
        let listing = self.store.list_all()?;
        for (state, ids) in listing.iter() {
            for id in ids {
                let version = self.store.version(state, id)?;
                found.insert((state, id.clone()), version);
            }
        }
        let changed: BTreeSet<MinionId> = found
            .iter()
            .filter(|(key, version)| self.looked.get(*key) != Some(*version))
            .chain(
                self.looked
                    .iter()
                    .filter(|(key, _)| !found.contains_key(*key)),
            )
            .map(|((_, id), _)| id.clone())
            .collect();
        let known = self.registers.minions();
        let gone = known.filter(|(id, standing)| {
            let is_there = |state| found.contains_key(&(state, (*id).clone()));
            *standing != Standing::Absent && !KeyState::LOOKUP.into_iter().any(is_there)
        });
        let gone: Vec<MinionId> = gone.map(|(id, _)| id.clone()).collect();
        let mut decided = Vec::new();
        for id in changed.into_iter().chain(gone) {
            if self.decide_as_stored(&id, wall)? {
                decided.push(id);
            }
        }
        self.keep(&decided, &[], false, &[])?;
        self.looked = found;
        self.lists = lists;
        Ok(decided)
    }

    /// Whether the registers say something else of a minion than the store, which
    /// is then decided.
    fn decide_as_stored(&mut self, id: &MinionId, wall: u64) -> Result<bool, RegistersError> {
        let stored = self.store.lookup(id)?;
        let denied = self.store.get(KeyState::Denied, id)?;
        let is = |key: &str, other: &str| clean_key(key) == clean_key(other);
        let decision = match (&stored, self.registers.key(id)) {
            (None, Standing::Absent) => None,
            (None, _) => Some(Decision::Delete),
            (Some(key), standing) => match (key.state, standing) {
                (KeyState::Accepted, Standing::Accepted(known))
                | (KeyState::Pending, Standing::Pending(known))
                | (KeyState::Rejected, Standing::Rejected(known))
                    if is(&key.pem, known) =>
                {
                    None
                }
                (KeyState::Accepted, _) => Some(Decision::Accept(&key.pem)),
                (KeyState::Rejected, _) => Some(Decision::Reject(&key.pem)),
                (KeyState::Pending | KeyState::Denied, _) => Some(Decision::Pend(&key.pem)),
            },
        };
        let mut is_decided = false;
        for decision in decision
            .into_iter()
            .chain(self.denied_decision(id, denied.as_deref()))
        {
            is_decided = true;
            self.registers.decide(id, decision, wall)?;
        }
        Ok(is_decided)
    }

    fn denied_decision<'d>(&self, id: &MinionId, stored: Option<&'d str>) -> Option<Decision<'d>> {
        match (stored, self.registers.denied_key(id)) {
            (Some(key), Some(known)) if clean_key(key) == clean_key(known) => None,
            (Some(key), _) => Some(Decision::Deny(key)),
            (None, Some(_)) => Some(Decision::ClearDenied),
            (None, None) => None,
        }
    }
}
