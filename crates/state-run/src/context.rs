//! The minion from the view of a state run: with the run's options, its pillar, and
//! grains that the run may have refreshed.
//!
//! Invariant: nothing of a run is visible outside it; the minion's own options and
//! pillar stay as they are.

use std::sync::{Arc, PoisonError, RwLock};

use halite_call::{
    Commander, ContextError, Daemon, Files, Jobs, LocalBus, MasterBus, MinionContext,
    PillarRequest, Recall, Refresh, Registry, Runners, Upstream,
};
use halite_pillar::LocalFiles;
use halite_proto::request::Commits;
use halite_proto::{Map, Value};

use crate::run_files::RunFiles;

/// A minion context with a run's own options and pillar.
pub struct StateContext<'m> {
    minion: &'m dyn MinionContext,
    opts: Map,
    pillar: RwLock<Arc<Map>>,
    request: PillarRequest,
    package: Option<FromPackage<'m>>,
    files: RunFiles<'m>,
}

/// What a run takes from an archive instead of the minion and its master.
struct FromPackage<'m> {
    files: &'m LocalFiles,
    grains: Arc<Map>,
}

impl<'m> StateContext<'m> {
    /// The minion with these options and this pillar.
    pub fn new(minion: &'m dyn MinionContext, opts: Map, pillar: Arc<Map>) -> Self {
        Self {
            minion,
            opts,
            pillar: RwLock::new(pillar),
            request: PillarRequest::default(),
            package: None,
            files: RunFiles::new(minion.files()),
        }
    }

    /// The commits that the run's files came from.
    pub(crate) fn commits(&self) -> Commits {
        self.files.commits_used()
    }

    /// The same with the files and grains of an archive and no master; what it
    /// has for a pillar is never compiled again.
    #[must_use]
    pub fn of_package(mut self, files: &'m LocalFiles, grains: Arc<Map>) -> Self {
        self.package = Some(FromPackage { files, grains });
        self
    }

    /// How the pillar is compiled when the run asks for a new one.
    #[must_use]
    pub fn renewed_by(mut self, request: PillarRequest) -> Self {
        self.request = request;
        self
    }

    /// Sets an option of the run.
    pub fn set_opt(&mut self, name: &str, value: impl Into<Value>) {
        self.opts.insert(name, value);
    }

    /// The minion for what reaches beyond it: not from an archive.
    fn beyond(&self) -> Result<&'m dyn MinionContext, ContextError> {
        match &self.package {
            Some(_) => Err(ContextError::NoMaster),
            None => Ok(self.minion),
        }
    }

    /// Compiles the run's pillar again (`reload_pillar`).
    ///
    /// # Errors
    /// When no master answers; the pillar stays as it is.
    pub fn reload_pillar(&self) -> Result<(), ContextError> {
        if self.package.is_some() {
            return Ok(());
        }
        let pillar = self.minion.compile_pillar(&self.request)?;
        let mut known = self.pillar.write().unwrap_or_else(PoisonError::into_inner);
        *known = Arc::new(with_overrides(pillar, &self.request, &self.opts));
        Ok(())
    }
}

/// The pillar with what the caller laid over it: a master may not have done so.
pub fn with_overrides(mut pillar: Map, request: &PillarRequest, opts: &Map) -> Map {
    let merge_lists = opts.get("pillar_merge_lists").is_some_and(Value::is_true);
    if let Some(overrides) = &request.overrides {
        lay_over(&mut pillar, overrides, merge_lists);
    }
    pillar
}

fn lay_over(under: &mut Map, over: &Map, merge_lists: bool) {
    for (key, value) in over {
        let old = under.get_or_insert_with(key.clone(), || Value::Nil);
        match (old, value) {
            (Value::Map(old), Value::Map(new)) => lay_over(old, new, merge_lists),
            (Value::List(old), Value::List(new)) if merge_lists => {
                let new = new.iter().filter(|item| !old.contains(item));
                let new: Vec<Value> = new.cloned().collect();
                old.extend(new);
            }
            (old, new) => *old = new.clone(),
        }
    }
}

impl MinionContext for StateContext<'_> {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        self.minion.registry()
    }

    fn grains(&self) -> Arc<Map> {
        match &self.package {
            Some(package) => Arc::clone(&package.grains),
            None => self.minion.grains(),
        }
    }

    fn pillar(&self) -> Arc<Map> {
        let pillar = self.pillar.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&pillar)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        match self.beyond() {
            Ok(minion) => minion.compile_pillar(request),
            Err(_) => Ok(with_overrides(
                Map::clone(&self.pillar()),
                request,
                &self.opts,
            )),
        }
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.minion.refresh(what, wait)
    }

    fn recall(&self) -> Option<&Recall> {
        self.beyond().ok()?.recall()
    }

    fn files(&self) -> &dyn Files {
        match &self.package {
            Some(package) => package.files,
            None => &self.files,
        }
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        self.beyond()?.upstream()
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        self.beyond()?.master_bus()
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        self.minion.local_bus()
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        self.minion.jobs()
    }

    fn daemon(&self) -> Option<&dyn Daemon> {
        self.minion.daemon()
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        self.beyond()?.runners()
    }

    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        self.beyond()?.commander(what)
    }
}

/// Tells a minion that stays that one part of a job is over.
pub(crate) fn part_is_over(ctx: &dyn MinionContext) {
    if let Some(jobs) = ctx.jobs() {
        jobs.part_is_over();
    }
}

#[cfg(test)]
mod tests {
    use halite_fake_minion::FakeMinion;
    use halite_fileserver::{FileServer, RootsOptions};

    use super::*;

    #[test]
    fn a_run_of_an_archive_reaches_no_master() {
        let minion = FakeMinion::new()
            .with_pillar(Map::from([("of", "master")]))
            .with_master(|_| Ok(true.into()));
        let pillar = Arc::new(Map::from([("of", "archive")]));
        let run = || StateContext::new(&minion, Map::new(), Arc::clone(&pillar));
        let load = || Map::from([("cmd", "_mine")]);
        let reached = |run: &StateContext<'_>| {
            [
                run.files().ask(load()).is_ok(),
                run.files().ask_beyond(load(), Map::new()).is_ok(),
                run.upstream().is_ok(),
                run.master_bus().is_ok(),
            ]
        };
        assert_eq!(reached(&run()), [true; 4]);

        let files = FileServer::from_roots(RootsOptions::default()).unwrap();
        let files = LocalFiles::new(Arc::new(files));
        let archive = run().of_package(&files, Arc::default());
        assert_eq!(reached(&archive), [false; 4]);
        for refused in [
            archive.upstream().map(drop),
            archive.master_bus().map(drop),
            archive.runners().map(drop),
            archive.commander("commanding minions").map(drop),
        ] {
            assert!(
                matches!(refused, Err(ContextError::NoMaster)),
                "{refused:?}"
            );
        }
        assert!(
            archive
                .local_bus()
                .unwrap()
                .fire_local("tag", Map::new())
                .unwrap()
        );

        let mut request = PillarRequest::default();
        assert_eq!(archive.compile_pillar(&request).unwrap(), *pillar);
        request.overrides = Some(Map::from([("a", 1)]));
        let laid_over = archive.compile_pillar(&request).unwrap();
        assert_eq!(laid_over.get("a"), Some(&1.into()));
        assert_eq!(laid_over.get("of"), Some(&"archive".into()));
    }
}
