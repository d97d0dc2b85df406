//! Detects several machines with one id and one key, and warns the admin.

use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::{Jid, Map, MinionId, Nonce, Value};
use halite_transport::fleet::Origin;

use super::Fleet;
use crate::core::clones::{Clones, Others};
use crate::core::history::Change;
use crate::events::bus::Bus;
use crate::limits::CLONES_MAX;

impl Fleet {
    /// A process of a minion has asked; what is known of others.
    pub(crate) fn hear_process(
        &self,
        id: &MinionId,
        process: &Nonce,
        from: Origin,
    ) -> Others<Origin> {
        let mut clones = self.clones();
        let others = clones.heard(id, process, from, Instant::now());
        tell_of_overflow(&mut clones);
        drop(clones);
        if others.news.is_some() {
            self.note_several(id);
        }
        others
    }

    /// A job has come back for the first time.
    pub(crate) fn hear_return(&self, id: &MinionId, jid: &Jid, from: Origin) {
        let mut clones = self.clones();
        clones.returned(id, jid, from, Instant::now());
        tell_of_overflow(&mut clones);
    }

    /// A job has come back once more; what that tells.
    pub(crate) fn hear_return_again(
        &self,
        id: &MinionId,
        jid: &Jid,
        from: Origin,
    ) -> Option<Vec<Origin>> {
        let found = self.clones().returned_again(id, jid, from, Instant::now());
        if found.is_some() {
            self.note_several(id);
        }
        found
    }

    fn note_several(&self, id: &MinionId) {
        let histories = &self.attendance.histories;
        histories.record(id, Change::SeveralMachines);
    }

    /// The addresses of a minion that is several machines.
    pub(crate) fn clones_of(&self, id: &MinionId) -> Vec<Origin> {
        self.clones().addresses(id, Instant::now())
    }

    /// Whether a minion may be several machines.
    pub(crate) fn may_be_several(&self, id: &MinionId) -> bool {
        self.clones().is_doubtful(id, Instant::now())
    }

    /// Forgets what was heard of a minion.
    pub(super) fn forget_clones(&self, id: &MinionId) {
        self.clones().forget(id);
    }

    fn clones(&self) -> MutexGuard<'_, Clones<Origin>> {
        self.clones.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell_of_overflow(clones: &mut Clones<Origin>) {
    if clones.take_overflow() {
        tracing::warn!(
            "more than {CLONES_MAX} minions are connected: for further ones, several machines with \
             the same id and key are not detected"
        );
    }
}

/// Reports in the log and on the event bus that a minion is several machines.
pub(crate) fn tell_of_clones(bus: &Bus, id: &MinionId, addresses: &[Origin]) {
    let addresses: Vec<String> = addresses.iter().map(Origin::to_string).collect();
    tracing::warn!(
        minion = %id,
        "several machines use this id and key at once (from {}): each runs every job, and only one \
         result is kept; give each machine its own id and key",
        addresses.join(", ")
    );
    let addresses = addresses.into_iter().map(Value::from).collect();
    let data = Map::from([
        ("id", Value::from(id)),
        ("addresses", Value::List(addresses)),
    ]);
    bus.fire_under("minion", [id.as_str(), "cloned"], data);
}
