//! The files for minions, and those that minions push.

pub(crate) mod file_changes;
pub(crate) mod promotion;
pub(crate) mod remotes;
pub(crate) mod settings;

use std::sync::Arc;

use halite_fileserver::{FileServer, Inbox};

use self::settings::FileSettings;
use crate::error::StartError;

/// Files in both directions.
pub(crate) struct Files {
    pub(crate) settings: FileSettings,
    /// The files for minions.
    pub(crate) server: Arc<FileServer>,
    /// The files from minions.
    pub(crate) inbox: Inbox,
}

impl Files {
    /// Opens the sources that the options name.
    ///
    /// # Errors
    /// When a source cannot be used as configured.
    pub(crate) fn open(settings: FileSettings) -> Result<Self, StartError> {
        let server = FileServer::open(&settings.server).map_err(StartError::Files)?;
        Ok(Self {
            server: Arc::new(server),
            inbox: Inbox::new(settings.inbox.clone()),
            settings,
        })
    }
}
