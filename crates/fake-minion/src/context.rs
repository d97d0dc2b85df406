//! The fake minion from the view of functions.

use std::sync::Arc;

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_proto::Map;

use crate::FakeMinion;

impl MinionContext for FakeMinion {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        self.registry
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains.lock().unwrap())
    }

    fn pillar(&self) -> Arc<Map> {
        Arc::clone(&self.pillar)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.record(format!("pillar {request:?}"));
        let mut pillar = Map::clone(&self.pillar);
        if let Some(overrides) = &request.overrides {
            pillar.extend(overrides.clone());
        }
        Ok(pillar)
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.record(format!("refresh {what:?} {wait:?}"));
        if what == Refresh::Grains {
            self.read_static_grains();
        }
        Ok(true)
    }

    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        match &self.files {
            Some(files) => files,
            None => self,
        }
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        Ok(self)
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        Ok(self)
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        Some(self)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        Some(self)
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        Err(ContextError::NoRunners)
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

impl FakeMinion {
    /// Takes the grains of the file `grains` in the configuration directory:
    /// what is gone from the file is gone from the grains.
    fn read_static_grains(&self) {
        let Ok(text) = std::fs::read_to_string(self.config_dir().join("grains")) else {
            return;
        };
        let read = halite_yaml::load(&text, "grains").unwrap().into_value();
        let read = read.as_map().unwrap();
        let mut names = self.static_grains.lock().unwrap();
        let mut grains = Map::clone(&self.grains());
        grains.retain(|name, _| !names.contains(name));
        grains.extend(read.clone());
        *names = read.keys().cloned().collect();
        *self.grains.lock().unwrap() = grains.into();
    }
}
