//! A minion without a master: `salt-call --local`. Files and pillar come from
//! this machine, events and the mine go nowhere.

use std::sync::{Arc, PoisonError, RwLock};

use halite_fileserver::Roots;
use halite_modules::{ContextError, MinionContext, PillarRequest, Refresh, Registry};
use halite_proto::{Map, Value};

use crate::own_files::OwnFiles;
use crate::proc_files::ProcDir;

/// The minion that a function sees without a master.
pub struct LocalContext {
    opts: Map,
    grains: RwLock<Arc<Map>>,
    collect: Option<Box<dyn Fn() -> Map + Send + Sync>>,
    own: OwnFiles,
}

impl LocalContext {
    /// A minion with these options and grains, and these files.
    pub fn new(opts: Map, grains: Map, roots: Roots) -> Self {
        Self {
            own: OwnFiles::new(roots, &opts),
            opts,
            grains: RwLock::new(Arc::new(grains)),
            collect: None,
        }
    }

    /// How grains are collected when a function asks for new ones.
    #[must_use]
    pub fn collecting(mut self, collect: Box<dyn Fn() -> Map + Send + Sync>) -> Self {
        self.collect = Some(collect);
        self
    }
}

impl MinionContext for LocalContext {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        halite_states::registry()
    }

    fn grains(&self) -> Arc<Map> {
        let grains = self.grains.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&grains)
    }

    fn pillar(&self) -> Arc<Map> {
        self.own.pillar(self)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        Ok(self.own.compile(self, request))
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        self.own.answer(load)
    }

    fn fire_local(&self, _tag: &str, _data: Map) -> Result<bool, ContextError> {
        Ok(false)
    }

    fn fire_master(&self, _tag: &str, _data: Value) -> Result<bool, ContextError> {
        Err(ContextError::NoMaster)
    }

    fn running(&self) -> Vec<Map> {
        ProcDir::at(&self.cachedir()).running()
    }

    fn signal_job(&self, _jid: &str, _signal: i32) -> Result<Option<i64>, ContextError> {
        Ok(None)
    }

    fn refresh(&self, what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        if matches!(what, Refresh::Pillar { .. }) {
            self.own.refresh();
            // Salt asks for it over the bus of a minion, which there is none of.
            return Ok(false);
        }
        if what == Refresh::Grains
            && let Some(collect) = &self.collect
        {
            let new = Arc::new(collect());
            *self.grains.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
        Ok(true)
    }

    fn master_connected(&self, _master: Option<&str>) -> bool {
        false
    }

    fn ping_master(&self, _master: &str) -> bool {
        false
    }
}
