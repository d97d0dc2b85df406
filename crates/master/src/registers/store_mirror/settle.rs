//! Makes the files and the key store agree with the registers, however often that
//! fails.

use std::collections::BTreeSet;

use halite_cluster::{Merged, PeerId, Standing};
use halite_crypto::clean_key;
use halite_key::{KeyState, KeyStoreError, StoredKey};
use halite_proto::MinionId;

use super::{Effects, StoreMirror};
use crate::registers::RegistersError;

/// Changes of the registers that are not on disk yet, or not shown by the key store yet.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    /// Minions of whose keys something is not on disk.
    pub(super) minions: BTreeSet<MinionId>,
    /// Masters with changes that are not on disk.
    pub(super) masters: BTreeSet<PeerId>,
    /// The publish key is not on disk.
    pub(super) publish_key: bool,
    /// Minions whose keys the store may not show yet. They are on disk too, so that
    /// a master that dies meanwhile shows them in its next life, and does not take
    /// what the store says for a decision.
    pub(super) pending: BTreeSet<MinionId>,
    /// The `pending` on disk is outdated.
    is_pending_new: bool,
}

impl Unsettled {
    pub(super) fn of_last_life(pending: BTreeSet<MinionId>) -> Self {
        Self {
            pending,
            ..Self::default()
        }
    }

    fn is_on_disk(&self) -> bool {
        self.minions.is_empty()
            && self.masters.is_empty()
            && !self.publish_key
            && !self.is_pending_new
    }
}

impl StoreMirror {
    /// Records the changes made by a peer's message.
    pub(super) fn take(&mut self, merged: Merged, effects: &mut Effects) {
        if merged.without_room > 0 {
            tracing::error!(
                "the registers are full: ignored {} entries of other masters",
                merged.without_room
            );
        }
        let unsettled = &mut self.unsettled;
        unsettled.is_pending_new |= !merged.keys.is_empty();
        unsettled.pending.extend(merged.keys.iter().cloned());
        unsettled.minions.extend(merged.keys);
        unsettled.masters.extend(merged.members.iter().cloned());
        unsettled.publish_key |= merged.publish_key;
        effects.undone.extend(merged.undone);
        effects.members.extend(merged.members);
        effects.publish_key |= merged.publish_key;
    }

    /// Writes down what is not on disk yet, and shows what is not shown yet: what
    /// succeeds is done, whatever else fails.
    ///
    /// # Errors
    /// What failed first. It is to be tried again.
    pub(in crate::registers) fn settle(
        &mut self,
        effects: &mut Effects,
    ) -> Result<(), RegistersError> {
        let kept = self.keep();
        let shown = self.show_pending(kept.is_ok(), effects);
        let removed = self.remove_peers(effects);
        kept.and(shown).and(removed)
    }

    /// Writes down what is not on disk yet.
    ///
    /// # Errors
    /// When it cannot be written; it is kept in mind.
    pub(super) fn keep(&mut self) -> Result<(), RegistersError> {
        if self.unsettled.is_on_disk() {
            return Ok(());
        }
        self.show_members()?;
        let unsettled = &self.unsettled;
        let new = self.registers.some_in_parts(
            &unsettled.minions,
            &unsettled.masters,
            unsettled.publish_key,
        );
        let pending = unsettled.is_pending_new.then_some(&unsettled.pending);
        self.kept.append(&self.registers, new, pending)?;
        self.unsettled.minions.clear();
        self.unsettled.masters.clear();
        self.unsettled.publish_key = false;
        self.unsettled.is_pending_new = false;
        self.kept.fold(&self.registers, &self.unsettled.pending)
    }

    /// A new member has its file before it is on disk: one without a file is taken
    /// for removed by hand.
    fn show_members(&self) -> Result<(), RegistersError> {
        let is_new = |id: &PeerId| self.unsettled.masters.contains(id);
        for (id, key, _) in self.registers.members() {
            if is_new(id) {
                self.dir.put_peer(id.as_str(), key)?;
            }
        }
        Ok(())
    }

    /// Removes the files of removed members, so that they are not let in.
    fn remove_peers(&self, effects: &mut Effects) -> Result<(), RegistersError> {
        let me = self.registers.me();
        for id in self.registers.removed().filter(|id| *id != me) {
            if self.dir.has_peer(id.as_str()) {
                self.dir.remove_peer(id.as_str())?;
                effects.members.push(id.clone());
            }
        }
        Ok(())
    }

    /// Has the store show what is pending. Where that is not on disk, only what
    /// takes access away: found again after a crash it is the same decision.
    fn show_pending(
        &mut self,
        is_on_disk: bool,
        effects: &mut Effects,
    ) -> Result<(), RegistersError> {
        if self.unsettled.pending.is_empty() {
            return Ok(());
        }
        let mut shown = Ok(());
        for id in self.unsettled.pending.clone() {
            let standing = self.registers.key(&id);
            let is_grant = matches!(standing, Standing::Pending(_) | Standing::Accepted(_));
            if is_grant && !is_on_disk {
                continue;
            }
            let shown_now = match is_grant && self.is_joining() {
                // What somebody has decided here while this master caught up is
                // told to the others when it has, if nothing stricter comes.
                true => self.show_unless_decided_here(&id, effects),
                false => self.show(&id, effects),
            };
            match shown_now {
                Ok(()) => {
                    self.unsettled.pending.remove(&id);
                }
                Err(source) if shown.is_ok() => shown = Err(RegistersError::Show { id, source }),
                Err(_) => {}
            }
        }
        if self.unsettled.pending.is_empty() && self.unsettled.is_on_disk() {
            self.kept.applied(&self.registers)?;
        }
        shown
    }

    fn show_unless_decided_here(
        &mut self,
        id: &MinionId,
        effects: &mut Effects,
    ) -> Result<(), KeyStoreError> {
        if self.was_decided_here(id)? {
            return Ok(());
        }
        let stored = self.store.lookup(id)?;
        self.show(id, effects)?;
        let shown = self.store.lookup(id)?;
        let other = stored.filter(|stored| {
            let is_shown = |shown: &StoredKey| shown.is_same_key(&stored.pem);
            stored.state == KeyState::Accepted && !shown.as_ref().is_some_and(is_shown)
        });
        let Some(other) = other else {
            return Ok(());
        };
        effects.lost.push(id.clone());
        effects.displaced.push(id.clone());
        // It is told to the others as any denied key when this master has caught up.
        if self.registers.denied_key(id).is_none() {
            self.store.put(id, KeyState::Denied, &other.pem)?;
        }
        Ok(())
    }

    /// Has the store show what is known of a minion.
    fn show(&mut self, id: &MinionId, effects: &mut Effects) -> Result<(), KeyStoreError> {
        let stored = self.store.lookup(id)?;
        let was_accepted = stored
            .as_ref()
            .is_some_and(|key| key.state == KeyState::Accepted);
        let wanted = match self.registers.key(id) {
            Standing::Absent => None,
            Standing::Pending(key) => Some((KeyState::Pending, key)),
            Standing::Accepted(key) => Some((KeyState::Accepted, key)),
            Standing::Rejected(key) => Some((KeyState::Rejected, key)),
        };
        match wanted {
            Some((state, pem)) => {
                let is_so = |key: &StoredKey| key.state == state && key.is_same_key(pem);
                let is_shown = match &stored {
                    Some(key) if is_so(key) => true,
                    seen => self.store.put_over(id, seen.as_ref(), state, pem)?,
                };
                if !is_shown {
                    // Somebody decides here at this moment. The next look finds that, as
                    // nothing is remembered.
                    return Ok(());
                }
                if was_accepted && state != KeyState::Accepted {
                    effects.lost.push(id.clone());
                }
            }
            None if stored.is_some() => {
                self.store.delete(id)?;
                effects.deleted.push(id.clone());
                if was_accepted {
                    effects.lost.push(id.clone());
                }
            }
            None => {}
        }
        self.show_denied(id)?;
        self.remember(id)
    }

    fn show_denied(&self, id: &MinionId) -> Result<(), KeyStoreError> {
        let stored = self.store.get(KeyState::Denied, id)?;
        match (self.registers.denied_key(id), stored) {
            (Some(key), stored) if stored.as_deref().map(clean_key) != Some(clean_key(key)) => {
                self.store.put(id, KeyState::Denied, key)?;
            }
            (None, Some(_)) => {
                let own = self.store.lookup(id)?;
                self.store.delete(id)?;
                if let Some(own) = own {
                    self.store.put(id, own.state, &own.pem)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Remembers what was shown, so that the next look does not take it for a decision.
    fn remember(&mut self, id: &MinionId) -> Result<(), KeyStoreError> {
        for state in KeyState::ALL {
            match self.store.version(state, id)? {
                None => self.looked.remove(&(state, id.clone())),
                version => self.looked.insert((state, id.clone()), version),
            };
        }
        Ok(())
    }
}
