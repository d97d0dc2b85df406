//! The files of this machine in place of a master's file server.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_call::{Ahead, ContextError, Files};
use halite_fileserver::FileServer;
use halite_proto::request::{COMMITS, Commits, HeldFile, MinionRequest};
use halite_proto::{Map, SaltEnv, Value};

/// Files of this machine, asked for as a master is.
pub struct LocalFiles(Arc<FileServer>);

impl LocalFiles {
    /// The files that `server` has.
    pub fn new(server: Arc<FileServer>) -> Self {
        Self(server)
    }
}

impl Files for LocalFiles {
    fn ask(&self, load: Map) -> Result<Value, ContextError> {
        let refused = |why: String| ContextError::Refused { why };
        let request = MinionRequest::from_map(load).map_err(|error| refused(error.to_string()))?;
        let answer = self.0.answer(&request).ok_or(ContextError::NoMaster)?;
        answer.map_err(|error| refused(error.to_string()))
    }

    /// Pieces are for masters behind a network: what is here is read at once.
    fn ask_beyond(&self, mut load: Map, mut beyond: Map) -> Result<Value, ContextError> {
        if let Some(commits) = beyond.remove(COMMITS) {
            load.insert(COMMITS, commits);
        }
        self.ask(load)
    }

    fn held(&self, _files: &[HeldFile], _commits: &Commits) -> Option<Vec<bool>> {
        None
    }

    fn commits(&self, saltenv: &SaltEnv) -> Option<BTreeMap<String, String>> {
        let commits = self.0.commits(saltenv);
        (!commits.is_empty()).then_some(commits)
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        None
    }
}
