//! The git remotes of the file server, fetched regularly by this master.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use halite_fileserver::Changes;
use halite_git::{Fetch, GitError, Repository, Updated};

use super::settings::GITFS;
use crate::events::bus::Bus;
use crate::files::{Files, file_changes};

/// A remote, and the bus on which the changes of an update are fired.
pub(crate) struct FilesRemote {
    repository: Arc<Repository>,
    files: Arc<Files>,
    bus: Arc<Bus>,
}

impl FilesRemote {
    /// All remotes of `gitfs_remotes`.
    pub(crate) fn all(files: &Arc<Files>, bus: &Arc<Bus>) -> Vec<Arc<Self>> {
        let remote = |repository| {
            let (files, bus) = (Arc::clone(files), Arc::clone(bus));
            Arc::new(Self {
                repository,
                files,
                bus,
            })
        };
        let repositories = files.server.repositories();
        repositories.into_iter().map(remote).collect()
    }
}

impl Fetch for FilesRemote {
    fn repository(&self) -> &Repository {
        &self.repository
    }

    fn fetch(&self, stop: &Arc<AtomicBool>) -> Result<Updated, GitError> {
        let (updated, changes) = Changes::of_update(&self.repository, |it| it.update(stop))?;
        file_changes::fire(&self.files, &self.bus, GITFS, changes);
        Ok(updated)
    }
}
