//! Options about the files for minions and from them.

use std::time::Duration;

use halite_config::MasterConfig;
use halite_fileserver::{FileServerOptions, InboxOptions, RootsOptions};

use crate::error::StartError;
use crate::settings::{clamped, hash_type};

/// What is read of the configuration.
pub(crate) struct FileSettings {
    pub(crate) server: FileServerOptions,
    pub(crate) inbox: InboxOptions,
    /// `fileserver_events`.
    pub(crate) fires_changes: bool,
    /// `roots_update_interval`.
    pub(crate) update_interval: Duration,
}

impl FileSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// When `hash_type` names no hash.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        Ok(Self {
            server: server(config)?,
            inbox: InboxOptions {
                on: config.file_recv,
                bytes_max: config.file_recv_max_size.saturating_mul(1024 * 1024),
                ..InboxOptions::new(&config.cachedir)
            },
            fires_changes: config.fileserver_events,
            update_interval: Duration::from_secs(config.roots_update_interval.max(1)),
        })
    }
}

fn server(config: &MasterConfig) -> Result<FileServerOptions, StartError> {
    // Where Salt has it.
    let times = || config.cachedir.join("roots").join("mtime_map");
    let roots = RootsOptions {
        file_roots: config
            .file_roots
            .iter()
            .map(|(env, dirs)| (env.clone(), dirs.clone()))
            .collect(),
        hash_type: hash_type(config)?,
        follow_symlinks: config.fileserver_followsymlinks,
        ignore_symlinks: config.fileserver_ignoresymlinks,
        ignore_regex: config.file_ignore_regex.0.clone(),
        ignore_glob: config.file_ignore_glob.0.clone(),
        times_file: config.fileserver_events.then(times),
    };
    Ok(FileServerOptions {
        backends: config.fileserver_backend.0.clone(),
        buffer_bytes: clamped(config.file_buffer_size),
        roots,
    })
}
