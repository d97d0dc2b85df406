//! Which minion has published a job (`publish_auth/<jid>`).

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use halite_crypto::files::{self, MODE_SECRET, WriteOptions};
use halite_proto::{Jid, MinionId};

use super::atomic::{entries, remove};
use super::jobs::Jobs;
use crate::error::StoreError;
use crate::limits::PUBLISHER_BYTES_MAX;

impl Jobs {
    pub(crate) fn save_publisher(&self, jid: &Jid, id: &MinionId) -> Result<(), StoreError> {
        if !self.publishers.is_dir() {
            files::ensure_private_dir(&self.publishers, None)?;
        }
        let options = WriteOptions {
            durable: false,
            ..WriteOptions::new(MODE_SECRET)
        };
        files::write_atomic(&self.publisher_file(jid), options, id.as_str().as_bytes())?;
        Ok(())
    }

    pub(crate) fn publisher(&self, jid: &Jid) -> Result<Option<MinionId>, StoreError> {
        match files::read_limited(&self.publisher_file(jid), PUBLISHER_BYTES_MAX) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes).ok();
                Ok(text.and_then(|text| MinionId::parse(text).ok()))
            }
            Err(error) if error.kind() == Some(std::io::ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes those of jobs that are older than `keep`.
    pub(super) fn clean_publishers(
        &self,
        keep: Duration,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        for entry in entries(&self.publishers)? {
            let modified = entry.metadata().and_then(|meta| meta.modified());
            let age = modified.map(|at| now.duration_since(at).unwrap_or_default());
            if age.is_ok_and(|age| age > keep)
                && let Err(error) = remove(&entry.path())
            {
                tracing::debug!(
                    %error,
                    "could not remove an old record of a publisher, trying again later"
                );
            }
        }
        Ok(())
    }

    /// The one place where a job id becomes a path here; it cannot leave it.
    fn publisher_file(&self, jid: &Jid) -> PathBuf {
        self.publishers.join(jid.as_str())
    }
}
