//! The files of this machine in place of a master's file server.

use std::sync::Arc;

use halite_call::{Ahead, ContextError, Files};
use halite_fileserver::FileServer;
use halite_proto::request::{HeldFile, MinionRequest};
use halite_proto::{Map, Value};

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
    fn ask_beyond(&self, load: Map, _beyond: Map) -> Result<Value, ContextError> {
        self.ask(load)
    }

    fn held(&self, _files: &[HeldFile]) -> Option<Vec<bool>> {
        None
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        None
    }
}
