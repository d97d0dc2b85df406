//! The registers of this master beside its key store: what is decided in the
//! store is kept in the registers, what others have decided is shown by the
//! store.
//!
//! Decisions are found by looking, whoever has made them: a handler, `salt-key`,
//! or a person with a copy of a file. Invariant: what was heard is on disk before
//! the store shows it, and what the store may not show yet is on disk beside it.

mod look;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use halite_cluster::{Delta, Merged, Message, PeerId, Registers, Standing, Sync};
use halite_crypto::clean_key;
use halite_crypto::files::{FileError, read_limited};
use halite_key::cluster::ClusterDir;
use halite_key::{KeyState, KeyStore, KeyVersion};
use halite_proto::MinionId;
use halite_proto::msgpack::unpack_modern;

use super::RegistersError;
use super::kept::Kept;
use crate::cluster::joining::GIVEN;
use crate::limits::REGISTERS_BYTES_MAX;

/// What has changed by what a peer has said.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Minions that were accepted here and are not any more.
    pub(super) lost: Vec<MinionId>,
    /// Minions whose keys are gone.
    pub(super) deleted: Vec<MinionId>,
    /// See [`Merged::undone`].
    pub(super) undone: Vec<MinionId>,
    /// Masters of whom something is new.
    pub(super) members: Vec<PeerId>,
    /// There is another publish key.
    pub(super) publish_key: bool,
}

/// The registers, their files, and the key store.
pub(super) struct Ledger {
    pub(super) registers: Registers,
    kept: Kept,
    store: KeyStore,
    /// The public keys of the members.
    dir: ClusterDir,
    /// What a joiner was given, until it has what the others have. Before that
    /// nothing in the store is taken for a decision.
    given: Option<PathBuf>,
    /// The keys of the store as they were when they were last looked at.
    looked: BTreeMap<(KeyState, MinionId), Option<KeyVersion>>,
    /// The versions of the lists of keys then.
    lists: Vec<Option<KeyVersion>>,
    /// Looks that took these for proof that nothing has changed.
    skipped: u32,
}

impl Ledger {
    /// Opens the registers in `dir`. Where the last life of this master ended
    /// before the store showed what was heard, it does now.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub(super) fn open(
        files: PathBuf,
        me: &PeerId,
        store: KeyStore,
        dir: ClusterDir,
    ) -> Result<Self, RegistersError> {
        let given = files.join(GIVEN);
        let (mut kept, restored) = Kept::open(files, me)?;
        if restored.is_new {
            kept.snapshot(&restored.registers, &[])?;
        }
        let mut ledger = Self {
            registers: restored.registers,
            kept,
            store,
            dir,
            given: given.exists().then_some(given),
            looked: BTreeMap::new(),
            lists: Vec::new(),
            skipped: 0,
        };
        for id in &restored.unapplied {
            ledger.show(id, &mut Taken::default())?;
        }
        ledger.kept.applied(&ledger.registers)?;
        ledger.take_given()?;
        Ok(ledger)
    }

    /// Takes what a peer says.
    ///
    /// # Errors
    /// When it is refused, or a file cannot be used.
    pub(super) fn hear(
        &mut self,
        sync: &mut Sync,
        from: &PeerId,
        message: Message,
        wall: u64,
    ) -> Result<Taken, RegistersError> {
        // What was decided here counts as such before anything is merged.
        self.look(wall)?;
        let merged = sync.heard(&mut self.registers, from, message, wall)?;
        if merged.is_empty() {
            return Ok(Taken::default());
        }
        self.apply(merged)
    }

    /// Whether this master has joined and does not have yet what the others have.
    pub(super) fn is_joining(&self) -> bool {
        self.given.is_some()
    }

    /// This master has what the others have. Keys that only it knows are not
    /// believed: they may have been deleted before it joined. They wait to be
    /// accepted again.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub(super) fn has_joined(&mut self) -> Result<(), RegistersError> {
        let Some(given) = &self.given else {
            return Ok(());
        };
        for id in self.store.list_all()?.accepted {
            if !matches!(self.registers.key(&id), Standing::Accepted(_))
                && let Some(pem) = self.store.get(KeyState::Accepted, &id)?
            {
                tracing::warn!(
                    minion = %id,
                    "the cluster does not know its key as accepted: it waits for a decision"
                );
                self.store.put(&id, KeyState::Pending, &pem)?;
            }
        }
        remove(given)?;
        self.given = None;
        Ok(())
    }

    fn take_given(&mut self) -> Result<(), RegistersError> {
        let Some(path) = &self.given else {
            return Ok(());
        };
        let bytes = read_limited(path, REGISTERS_BYTES_MAX)?;
        let delta = unpack_modern(&bytes).ok();
        let delta = delta.and_then(|value| Delta::from_value(value).ok());
        let delta = delta.ok_or_else(|| RegistersError::Damaged { path: path.clone() })?;
        self.registers.restore(delta);
        self.kept.snapshot(&self.registers, &[])?;
        self.show_members()
    }

    /// The members whose files a person has removed, which removes them.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(super) fn look_at_members(&mut self, wall: u64) -> Result<Vec<PeerId>, RegistersError> {
        if !self.kept.is_there() {
            return Err(RegistersError::Gone);
        }
        let members = self.registers.members().map(|(id, ..)| id.clone());
        let gone = |id: &PeerId| id != self.registers.me() && !self.dir.has_peer(id.as_str());
        let gone: Vec<PeerId> = members.filter(gone).collect();
        for id in &gone {
            tracing::warn!(peer = %id, "its key was removed from the peers: it is no member any more");
            self.registers.remove_member(id, wall);
        }
        self.keep(&[], &gone, false, &[])?;
        Ok(gone)
    }

    /// The directory of the peers shows who is a member.
    pub(super) fn show_members(&self) -> Result<(), RegistersError> {
        for (id, key, _) in self.registers.members() {
            self.dir.put_peer(id.as_str(), key)?;
        }
        Ok(())
    }

    /// Writes down what was changed of members or the publish key by this master.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep(
        &mut self,
        minions: &[MinionId],
        members: &[PeerId],
        publish_key: bool,
        unapplied: &[MinionId],
    ) -> Result<(), RegistersError> {
        let new = self.registers.some(minions, members, publish_key);
        if new.is_empty() {
            return Ok(());
        }
        self.kept.append(&self.registers, &new, unapplied)
    }

    fn apply(&mut self, merged: Merged) -> Result<Taken, RegistersError> {
        if merged.without_room > 0 {
            tracing::error!(
                "the registers are full: {} names of other masters are not kept",
                merged.without_room
            );
        }
        // A member without a file would be taken for removed by hand.
        if !merged.members.is_empty() {
            self.show_members()?;
        }
        self.keep(
            &merged.keys,
            &merged.members,
            merged.publish_key,
            &merged.keys,
        )?;
        let mut taken = Taken {
            undone: merged.undone,
            members: merged.members,
            publish_key: merged.publish_key,
            ..Taken::default()
        };
        for id in &taken.members {
            if self.registers.was_removed(id) && id != self.registers.me() {
                self.dir.remove_peer(id.as_str())?;
            }
        }
        for id in &merged.keys {
            self.show(id, &mut taken)?;
        }
        self.kept.applied(&self.registers)?;
        Ok(taken)
    }

    /// Has the store show what is known of a minion.
    fn show(&mut self, id: &MinionId, taken: &mut Taken) -> Result<(), RegistersError> {
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
                let is_so = stored.is_some_and(|key| key.state == state && key.is_same_key(pem));
                if !is_so {
                    self.store.put(id, state, pem)?;
                }
                if was_accepted && state != KeyState::Accepted {
                    taken.lost.push(id.clone());
                }
            }
            None if stored.is_some() => {
                self.store.delete(id)?;
                taken.deleted.push(id.clone());
                if was_accepted {
                    taken.lost.push(id.clone());
                }
            }
            None => {}
        }
        self.show_denied(id)?;
        self.remember(id)
    }

    fn show_denied(&self, id: &MinionId) -> Result<(), RegistersError> {
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

    /// What was shown is not found as a decision at the next look.
    fn remember(&mut self, id: &MinionId) -> Result<(), RegistersError> {
        for state in KeyState::ALL {
            match self.store.version(state, id)? {
                None => self.looked.remove(&(state, id.clone())),
                version => self.looked.insert((state, id.clone()), version),
            };
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(FileError::Remove {
            path: path.to_owned(),
            source,
        }),
    }
}

#[cfg(test)]
mod tests;
