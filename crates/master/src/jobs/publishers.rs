//! Which minion published which job: only that one may have the results.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_crypto::files::{self, MODE_SECRET, WriteOptions};
use halite_proto::{Jid, MinionId};

use super::Jobs;
use crate::limits::PUBLISHER_FILE_BYTES_MAX;

/// The directory of these records, below `cachedir`.
const DIR: &str = "publish_auth";

impl Jobs {
    /// Whether this minion has published the job.
    pub(crate) fn is_published_by(&self, jid: &Jid, id: &MinionId) -> bool {
        let publisher = files::read_limited(&self.publisher_file(jid), PUBLISHER_FILE_BYTES_MAX);
        publisher.ok().as_deref() == Some(id.as_str().as_bytes())
    }

    /// Records which minion publishes a job.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(crate) fn record_publisher(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<(), files::FileError> {
        let path = self.publisher_file(jid);
        if let Some(dir) = path.parent()
            && !dir.is_dir()
        {
            files::ensure_private_dir(dir, None)?;
        }
        let options = WriteOptions {
            durable: false,
            ..WriteOptions::new(MODE_SECRET)
        };
        files::write_atomic(&path, options, id.as_str().as_bytes())
    }

    /// Where the records are.
    pub(crate) fn publishers_dir(&self) -> PathBuf {
        self.general.cachedir.join(DIR)
    }

    /// The one place where a job id becomes a path here; it cannot leave it.
    fn publisher_file(&self, jid: &Jid) -> PathBuf {
        self.publishers_dir().join(jid.as_str())
    }
}

/// Removes the records of jobs that are older than `keep`.
pub(crate) fn forget_publishers(dir: &Path, keep: Duration) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > keep));
        if is_old && let Err(error) = fs::remove_file(entry.path()) {
            tracing::debug!("could not remove {}: {error}", entry.path().display());
        }
    }
}
