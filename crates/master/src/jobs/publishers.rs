//! Which minion published which job: only that minion may have the results.

use halite_proto::{Jid, MinionId};
use halite_store::StoreError;

use super::Jobs;
use crate::error::chain;

impl Jobs {
    /// Whether this minion has published the job. What cannot be read is
    /// nobody's.
    pub(crate) fn is_published_by(&self, jid: &Jid, id: &MinionId) -> bool {
        let publisher = self.cache.publisher(jid).unwrap_or_else(|error| {
            tracing::error!(%jid, "could not read who published the job: {}", chain(&error));
            None
        });
        publisher.as_ref() == Some(id)
    }

    /// Records which minion publishes a job.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn record_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        self.cache.save_publisher(jid, id)
    }
}
