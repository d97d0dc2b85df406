//! The jobs that go to a server besides, or instead (`ext_job_cache`).
//!
//! Invariant: a result that the server does not accept from its minion waits on the disk of
//! the master that has received it.

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Map, MinionId};
use halite_store::StoreError;

use super::Jobs;
use crate::error::chain;

impl Jobs {
    /// The store of `ext_job_cache`, with what waits for it.
    pub(crate) fn ext(&self) -> Option<&halite_store::Jobs> {
        self.ext.as_ref().map(|ext| &ext.jobs)
    }

    /// Whether this master stores returns anywhere.
    pub(crate) fn stores_returns_anywhere(&self) -> bool {
        self.settings.stores_returns || self.ext.is_some()
    }

    /// Stores what was published where `ext_job_cache` says.
    pub(crate) fn save_in_ext(&self, jid: &Jid, load: &Map, minions: Option<&[MinionId]>) {
        let Some(ext) = self.ext() else {
            return;
        };
        if let Err(error) = ext.save_load(jid, load, minions) {
            tracing::error!(%jid, "could not store the job in ext_job_cache: {}", chain(&error));
        }
    }

    /// Stores a return where `ext_job_cache` says. The server recognizes what a Halite
    /// minion has stored there too. One of Salt's would add a second row: its return is
    /// left to it, unless the server is away.
    ///
    /// # Errors
    /// When the return can neither be stored nor wait, and its minion brings it again.
    pub(crate) fn save_return_in_ext(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
        is_of_halite: bool,
    ) -> Result<(), StoreError> {
        let Some(ext) = self.ext() else {
            return Ok(());
        };
        if is_of_halite {
            return ext.save_return(jid, id, ret).map(drop);
        }
        if let Err(error) = ext.save_return_while_away(jid, id, ret) {
            tracing::error!(
                minion = %id, %jid,
                "could not keep a return for ext_job_cache, which is away: {}", chain(&error)
            );
        }
        Ok(())
    }
}
