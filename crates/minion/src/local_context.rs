//! A minion without a master: `salt-call --local`. Files come from this
//! machine's `file_roots`, events and the mine go nowhere.

use std::sync::Arc;

use halite_fileserver::Roots;
use halite_modules::{ContextError, MinionContext, PillarRequest, Refresh};
use halite_proto::request::MinionRequest;
use halite_proto::{Map, Value};

/// The minion that a function sees without a master.
pub struct LocalContext {
    opts: Map,
    grains: Arc<Map>,
    pillar: Arc<Map>,
    roots: Roots,
}

impl LocalContext {
    /// A minion with these options and grains, and these files.
    pub fn new(opts: Map, grains: Map, roots: Roots) -> Self {
        Self {
            opts,
            grains: Arc::new(grains),
            pillar: Arc::default(),
            roots,
        }
    }
}

impl MinionContext for LocalContext {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::clone(&self.pillar)
    }

    fn compile_pillar(&self, _request: &PillarRequest) -> Result<Map, ContextError> {
        Ok(Map::clone(&self.pillar))
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        let refused = |why: String| ContextError::Refused { why };
        let command = MinionRequest::from_map(load).map_err(|error| refused(error.to_string()))?;
        let roots = &self.roots;
        let answer = match command {
            MinionRequest::FileEnvs => Ok(roots.answer_envs()),
            MinionRequest::FileFind(file) => Ok(roots.answer_find(&file)),
            MinionRequest::FileHash(file) => roots.answer_hash(&file),
            MinionRequest::FileHashAndStat(file) => roots.answer_hash_and_stat(&file),
            MinionRequest::FileList(list) => Ok(roots.answer_files(&list)),
            MinionRequest::FileListEmptydirs(list) => Ok(roots.answer_empty_dirs(&list)),
            MinionRequest::DirList(list) => Ok(roots.answer_dirs(&list)),
            MinionRequest::SymlinkList(list) => Ok(roots.answer_symlinks(&list)),
            MinionRequest::ServeFile(wanted) => roots.answer_serve(&wanted),
            _ => return Err(ContextError::NoMaster),
        };
        answer.map_err(|error| refused(error.to_string()))
    }

    fn fire_local(&self, _tag: &str, _data: Map) -> Result<bool, ContextError> {
        Ok(false)
    }

    fn fire_master(&self, _tag: &str, _data: Value) -> Result<bool, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn running(&self) -> Vec<Map> {
        Vec::new()
    }

    fn signal_job(&self, _jid: &str, _signal: i32) -> Result<Option<i64>, ContextError> {
        Ok(None)
    }

    fn refresh(&self, _what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        Ok(true)
    }

    fn master_connected(&self, _master: Option<&str>) -> bool {
        false
    }

    fn ping_master(&self, _master: &str) -> bool {
        false
    }
}
