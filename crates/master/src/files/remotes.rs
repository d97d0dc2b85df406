//! Git remotes that files come from: whether their options can be used, and
//! keeping them fetched.
//!
//! Invariant: each remote has a thread of its own, so one that hangs delays
//! neither another one nor anything else of the master.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use halite_config::{ConfigError, MasterConfig};
use halite_fileserver::Changes;
use halite_git::{GitError, Remote, Repository, Updated};

use super::settings::GITFS;
use crate::error::chain;
use crate::events::bus::Bus;
use crate::files::{Files, file_changes};

/// The options of git remotes that cannot be used, each with its place.
pub fn unusable_remotes(config: &MasterConfig) -> Vec<ConfigError> {
    if !config.fileserver_backend.0.iter().any(|name| name == GITFS) {
        return Vec::new();
    }
    let Err(error) = Remote::gitfs(config.opts()) else {
        return Vec::new();
    };
    // An option of all remotes stands by itself.
    let option = match error.option.starts_with("gitfs_") {
        true => error.option.as_str(),
        false => "gitfs_remotes",
    };
    let why = error.to_string();
    vec![config.unusable(option, error.index, &error.option, why)]
}

/// The threads that fetch remotes. They end when it is dropped.
pub(crate) struct Fetching {
    stop: Arc<AtomicBool>,
    ends: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Fetching {
    /// Begins to fetch each remote, now and whenever its interval is over.
    pub(crate) fn start(files: &Arc<Files>, bus: &Arc<Bus>) -> Self {
        let mut this = Self {
            stop: Arc::default(),
            ends: Vec::new(),
            threads: Vec::new(),
        };
        for repository in files.server.repositories() {
            let (files, bus) = (Arc::clone(files), Arc::clone(bus));
            let (end, ended) = channel();
            let stop = Arc::clone(&this.stop);
            let name = "gitfs".to_owned();
            let work = move || keep_fetched(&repository, &files, &bus, &stop, &ended);
            match thread::Builder::new().name(name).spawn(work) {
                Ok(thread) => {
                    this.ends.push(end);
                    this.threads.push(thread);
                }
                Err(error) => tracing::error!("a git remote is not fetched: {error}"),
            }
        }
        this
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.ends.clear();
        for thread in self.threads.drain(..) {
            // One that has panicked has ended too.
            let _ = thread.join();
        }
    }
}

fn keep_fetched(
    repository: &Repository,
    files: &Files,
    bus: &Bus,
    stop: &Arc<AtomicBool>,
    ended: &Receiver<()>,
) {
    let remote = repository.remote();
    let mut told = String::new();
    loop {
        match repository.update(stop) {
            Ok(updated) => {
                told.clear();
                let changes = Changes {
                    untold: Some(updated == Updated::Changed),
                    ..Changes::default()
                };
                file_changes::fire(files, bus, GITFS, changes);
            }
            Err(GitError::Stopped) => return,
            Err(error @ GitError::Locked { .. }) => tracing::debug!(%remote, "{error}"),
            Err(error) => {
                // Once, and again when something else is wrong.
                let text = chain(&error);
                if text != told {
                    tracing::error!(%remote, "could not update a git remote: {text}");
                    told = text;
                }
            }
        }
        match ended.recv_timeout(remote.update_interval) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}
