//! Keeps the registers of this master and its key store in agreement: decisions in
//! the store go into the registers, and decisions of others go into the store.
//!
//! Decisions are found by looking, whoever has made them: a handler, `salt-key`, or
//! a person with a copy of a file. A failed write is tried again
//! ([`settle`](StoreMirror::settle)). Invariant: access that was granted elsewhere
//! is on disk before the store shows it, and what the store may not show yet is on
//! disk beside it.

mod look;
mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_cluster::limits::CLOCK_LEAD_MAX;
use halite_cluster::{Delta, Message, PeerId, Registers, Standing, Sync};
use halite_crypto::SymmetricKey;
use halite_crypto::files::{FileError, read_limited};
use halite_key::cluster::ClusterDir;
use halite_key::{KeyState, KeyStore, KeyStoreError, KeyVersion};
use halite_proto::MinionId;
use halite_proto::msgpack::unpack_modern;

use self::settle::Unsettled;
use super::RegistersError;
use super::kept::Kept;
use crate::cluster::joining::GIVEN;
use crate::limits::REGISTERS_BYTES_MAX;

/// What follows from what a peer has said.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Minions that were accepted here and are not any more.
    pub(super) lost: Vec<MinionId>,
    /// Minions whose keys were deleted.
    pub(super) deleted: Vec<MinionId>,
    /// See [`Merged::undone`].
    pub(super) undone: Vec<MinionId>,
    /// Minions for which this master had accepted a key that differs from the cluster's.
    pub(super) displaced: Vec<MinionId>,
    /// Masters with changes.
    pub(super) members: Vec<PeerId>,
    /// There is another publish key.
    pub(super) publish_key: bool,
}

/// Keys of the store, each with its version.
type Looked = BTreeMap<(KeyState, MinionId), Option<KeyVersion>>;

/// The registers, their files, and the key store.
pub(super) struct StoreMirror {
    pub(super) registers: Registers,
    kept: Kept,
    store: KeyStore,
    /// The public keys of the members.
    dir: ClusterDir,
    /// What the joining master was given, until it has agreed with the others. Before
    /// that nothing in its store counts as a decision.
    given: Option<PathBuf>,
    /// Changes that are not on disk yet, and changes that the store does not show yet.
    unsettled: Unsettled,
    /// Minions whose keys the registers cannot hold; logged once.
    left_out: BTreeSet<MinionId>,
    /// The keys of the store as they were when they were last looked at.
    looked: Looked,
    /// The versions of the lists of keys then.
    lists: Vec<Option<KeyVersion>>,
    /// Consecutive checks that took these for proof that nothing has changed.
    skipped: u32,
}

impl StoreMirror {
    /// Opens the registers in `files`, at `wall` microseconds since 1970. Where the
    /// last life of this master ended before the store showed what was heard, it
    /// does now.
    ///
    /// # Errors
    /// When a file cannot be used, or the clock is behind what was written.
    pub(super) fn open(
        files: PathBuf,
        me: &PeerId,
        store: KeyStore,
        dir: ClusterDir,
        wall: u64,
    ) -> Result<Self, RegistersError> {
        let given = files.join(GIVEN);
        let (mut kept, restored) = Kept::open(files.clone(), me)?;
        let ahead = restored.registers.now().micros.saturating_sub(wall);
        let lead = Duration::from_micros(ahead);
        if lead > CLOCK_LEAD_MAX {
            // What it would decide now, all others would refuse.
            return Err(RegistersError::ClockBehind {
                lead_s: lead.as_secs(),
                dir: files,
            });
        }
        if restored.is_new {
            kept.snapshot(&restored.registers, &restored.unapplied)?;
        }
        let mut mirror = Self {
            registers: restored.registers,
            kept,
            store,
            dir,
            given: given.exists().then_some(given),
            unsettled: Unsettled::of_last_life(restored.unapplied),
            left_out: BTreeSet::new(),
            looked: BTreeMap::new(),
            lists: Vec::new(),
            skipped: 0,
        };
        mirror.take_given()?;
        if mirror.is_joining() {
            mirror.looked = mirror.versions()?;
        }
        // What does not succeed is tried again, and logged then.
        let _ = mirror.settle(&mut Effects::default());
        Ok(mirror)
    }

    /// Applies a message of a peer; `effects` collects what it changed. Decisions made
    /// here count only if `look` was called before.
    ///
    /// # Errors
    /// When it is refused. What cannot be written or shown is settled later.
    pub(super) fn hear(
        &mut self,
        sync: &mut Sync,
        from: &PeerId,
        message: Message,
        wall: u64,
        effects: &mut Effects,
    ) -> Result<(), RegistersError> {
        if !self.registers.is_member(from) {
            return Err(RegistersError::NoMember);
        }
        if !self.kept.is_there() {
            return Err(RegistersError::Gone);
        }
        let merged = sync.heard(&mut self.registers, from, message, wall)?;
        if !merged.is_empty() {
            self.take(merged, effects);
            // What does not succeed is tried again, and logged then.
            let _ = self.settle(effects);
        }
        Ok(())
    }

    /// Adds a master, also one that was removed before.
    ///
    /// # Errors
    /// When there is no room for it, or a file cannot be written.
    pub(super) fn admit(
        &mut self,
        peer: &PeerId,
        key: &str,
        address: &str,
        wall: u64,
    ) -> Result<(), RegistersError> {
        self.registers.admit(peer, key, address, wall)?;
        self.unsettled.masters.insert(peer.clone());
        self.keep()
    }

    /// Removes a master; returns whether it was a member. It is on disk after
    /// [`settle`](Self::settle).
    pub(super) fn remove_member(&mut self, peer: &PeerId, wall: u64) -> bool {
        let is_removed = self.registers.remove_member(peer, wall);
        if is_removed {
            self.unsettled.masters.insert(peer.clone());
        }
        is_removed
    }

    /// Makes `key` the publish key of the cluster, in the registers. It is so even
    /// where it cannot be written down yet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn rotate(&mut self, key: SymmetricKey, wall: u64) -> Result<(), RegistersError> {
        self.registers.rotate(key, wall);
        self.unsettled.publish_key = true;
        self.keep()
    }

    /// Whether this master has joined and does not have yet what the others have.
    pub(super) fn is_joining(&self) -> bool {
        self.given.is_some()
    }

    /// This master has what the others have. Keys that were accepted here before it
    /// joined and that only it knows are not believed: they may have been deleted
    /// before. They wait to be accepted again. What somebody has decided here since
    /// counts: the next look finds it.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub(super) fn has_joined(&mut self) -> Result<(), RegistersError> {
        let Some(given) = &self.given else {
            return Ok(());
        };
        for id in self.store.list_all()?.accepted {
            if !matches!(self.registers.key(&id), Standing::Accepted(_))
                && !self.was_decided_here(&id)?
                && let Some(pem) = self.store.get(KeyState::Accepted, &id)?
            {
                tracing::warn!(
                    minion = %id,
                    "the cluster does not list the key as accepted: it is pending again"
                );
                self.store.put(&id, KeyState::Pending, &pem)?;
            }
        }
        remove(given)?;
        self.given = None;
        // The next look is at all of them: what only this master has is told.
        self.looked.clear();
        self.lists.clear();
        Ok(())
    }

    /// The keys of the store, each with its version. A key whose version cannot be read
    /// is left out.
    fn versions(&self) -> Result<Looked, RegistersError> {
        let listing = self.store.list_all()?;
        let all = listing
            .iter()
            .flat_map(|(state, ids)| ids.iter().map(move |id| (state, id)));
        let version = |(state, id): (KeyState, &MinionId)| {
            let version = self.store.version(state, id).ok()?;
            Some(((state, id.clone()), version))
        };
        Ok(all.filter_map(version).collect())
    }

    /// Whether somebody has accepted or deleted a minion's key here since the last
    /// look, or since it was shown, or has rejected it at any time. A key that a
    /// minion has brought waits, which nobody has decided; and that another key than
    /// the cluster's was accepted decides nothing: whoever names himself so may have
    /// been accepted automatically.
    fn was_decided_here(&self, id: &MinionId) -> Result<bool, KeyStoreError> {
        let looked = |state| self.looked.get(&(state, id.clone()));
        let Some(stored) = self.store.lookup(id)? else {
            return Ok(KeyState::LOOKUP
                .into_iter()
                .any(|state| looked(state).is_some()));
        };
        let is_of_the_key = match self.registers.key(id) {
            Standing::Absent | Standing::Rejected(_) => true,
            Standing::Pending(known) | Standing::Accepted(known) => stored.is_same_key(known),
        };
        match stored.state {
            KeyState::Rejected => Ok(true),
            KeyState::Accepted if is_of_the_key => {
                let version = self.store.version(stored.state, id)?;
                Ok(looked(stored.state) != Some(&version))
            }
            _ => Ok(false),
        }
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
        self.kept
            .snapshot(&self.registers, &self.unsettled.pending)?;
        for (id, key, _) in self.registers.members() {
            self.dir.put_peer(id.as_str(), key)?;
        }
        Ok(())
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
        let gone = |id: &PeerId| {
            let is_new = self.unsettled.masters.contains(id);
            id != self.registers.me() && !is_new && !self.dir.has_peer(id.as_str())
        };
        let gone: Vec<PeerId> = members.filter(gone).collect();
        for id in &gone {
            tracing::warn!(
                peer = %id,
                "the peer's key was removed from the directory of peers: it is no longer a member"
            );
            self.remove_member(id, wall);
        }
        self.keep()?;
        Ok(gone)
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
