//! For which minions a job was: by the publication, and by the job cache after that
//! was forgotten.

use halite_proto::{Jid, Map, MinionId, Value};
use halite_store::StoreError;

use super::Jobs;
use crate::core::meant::{Meant, Standing};
use crate::error::chain;

impl Jobs {
    /// Records the minions of a job or of a part of one: these, and no others if the
    /// target is a list of ids. Must be called before the job is sent.
    pub(crate) fn record_meant(&self, jid: &Jid, minions: &[MinionId], by_ids: bool) {
        self.remember(jid);
        self.record_meant_at_first(jid, minions, by_ids);
    }

    /// The same for a job that is not known otherwise: the job cache stored it just now.
    pub(crate) fn record_meant_at_first(&self, jid: &Jid, minions: &[MinionId], by_ids: bool) {
        self.with_meant(|meant| meant.record(jid, minions, by_ids));
    }

    /// Whether a job was sent to a minion.
    pub(crate) fn standing(&self, jid: &Jid, id: &MinionId) -> Standing {
        self.remember(jid);
        self.with_meant(|meant| meant.standing(jid, id))
    }

    /// As `record_meant`, of a job that the job cache was asked about.
    pub(crate) fn record_meant_as_stored(
        &self,
        jid: &Jid,
        stored: &Result<Option<Map>, StoreError>,
        minions: &[MinionId],
        by_ids: bool,
    ) {
        if !self.with_meant(|meant| meant.knows(jid)) {
            self.remember_stored(jid, stored);
        }
        self.record_meant_at_first(jid, minions, by_ids);
    }

    /// Asks the job cache about a job that is not remembered.
    pub(crate) fn remember(&self, jid: &Jid) {
        if !self.with_meant(|meant| meant.knows(jid)) {
            self.remember_stored(jid, &self.cache.load(jid));
        }
    }

    fn remember_stored(&self, jid: &Jid, stored: &Result<Option<Map>, StoreError>) {
        match stored {
            Ok(Some(load)) => {
                let minions = load.get("Minions").and_then(Value::as_list);
                let minions = minions.unwrap_or_default().iter();
                let ids = minions.filter_map(|id| MinionId::parse(id.as_str()?).ok());
                let ids: Vec<MinionId> = ids.collect();
                // A full disk may have kept some of them from being stored.
                self.with_meant(|meant| meant.record(jid, &ids, false));
            }
            // Nobody is remembered for ids that somebody has thought of.
            Ok(None) => {}
            Err(error) if self.telemetry.may_log("job cache", "who was meant") => {
                tracing::warn!(%jid, "could not read the minions of the job: {}", chain(error));
            }
            Err(_) => {}
        }
    }

    fn with_meant<T>(&self, use_it: impl FnOnce(&mut Meant) -> T) -> T {
        use_it(
            &mut self
                .meant
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }
}
