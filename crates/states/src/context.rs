//! The minion as a state run sees it: with the run's options, its pillar, and
//! grains that the run may have made new.
//!
//! Invariant: nothing of a run is seen outside it; the minion's own options and
//! pillar stay as they are.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use halite_fileserver::FileServer;
use halite_modules::{
    Ahead, ContextError, MasterAnswer, MasterFunction, MinionContext, MinionsAnswer,
    MinionsCommand, PillarRequest, Recall, Refresh, Registry,
};
use halite_pillar::answer_from;
use halite_proto::request::HeldFile;
use halite_proto::{Map, Value};

/// A minion context with a run's own options and pillar.
pub struct StateContext<'m> {
    minion: &'m dyn MinionContext,
    opts: Map,
    pillar: RwLock<Arc<Map>>,
    request: PillarRequest,
    package: Option<FromPackage<'m>>,
}

/// What a run takes from an archive instead of the minion and its master.
struct FromPackage<'m> {
    files: &'m FileServer,
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
        }
    }

    /// The same with the files and grains of an archive and no master; what it
    /// has for a pillar is never compiled again.
    #[must_use]
    pub fn of_package(mut self, files: &'m FileServer, grains: Arc<Map>) -> Self {
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

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        match &self.package {
            Some(package) => answer_from(package.files, load),
            None => self.minion.request(load),
        }
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        match &self.package {
            Some(package) => answer_from(package.files, load),
            None => self.minion.request_beyond(load, beyond),
        }
    }

    fn held_files(&self, files: &[HeldFile]) -> Option<Vec<bool>> {
        self.beyond().ok()?.held_files(files)
    }

    fn recall(&self) -> Option<&Recall> {
        self.beyond().ok()?.recall()
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        self.beyond().ok()?.ahead()
    }

    fn part_is_over(&self) {
        self.minion.part_is_over();
    }

    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.beyond()?.request_every(load)
    }

    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.minion.fire_local(tag, data)
    }

    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.beyond()?.fire_master(tag, data)
    }

    fn fire_with(&self, fields: &Map, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.beyond()?.fire_with(fields, tag, data)
    }

    fn running(&self) -> Vec<Map> {
        self.minion.running()
    }

    fn signal_job(&self, jid: &str, signal: i32) -> Result<Option<i64>, ContextError> {
        self.minion.signal_job(jid, signal)
    }

    fn refresh(&self, what: Refresh, wait: Option<u64>) -> Result<bool, ContextError> {
        self.minion.refresh(what, wait)
    }

    fn manage_schedule(&self, request: Map) -> Result<Map, ContextError> {
        self.minion.manage_schedule(request)
    }

    fn manage_beacons(&self, request: Map) -> Result<Map, ContextError> {
        self.minion.manage_beacons(request)
    }

    fn runner(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, ContextError> {
        self.beyond()?.runner(fun, args, kwargs)
    }

    fn run_on_master(
        &self,
        kind: MasterFunction,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<MasterAnswer, ContextError> {
        self.beyond()?.run_on_master(kind, fun, args, kwargs)
    }

    fn command_minions(&self, command: &MinionsCommand) -> Result<MinionsAnswer, ContextError> {
        self.beyond()?.command_minions(command)
    }

    fn watch_events(
        &self,
        wait: Duration,
        seen: &mut dyn FnMut(&str, &Map) -> bool,
    ) -> Result<bool, ContextError> {
        self.beyond()?.watch_events(wait, seen)
    }

    fn master_connected(&self, master: Option<&str>) -> bool {
        self.beyond()
            .is_ok_and(|minion| minion.master_connected(master))
    }

    fn ping_master(&self, master: &str) -> bool {
        self.beyond().is_ok_and(|minion| minion.ping_master(master))
    }
}

#[cfg(test)]
mod tests {
    use halite_fileserver::RootsOptions;

    use super::*;

    /// A minion whose master takes everything.
    struct Minion(Map);

    impl MinionContext for Minion {
        fn opts(&self) -> &Map {
            &self.0
        }
        fn registry(&self) -> &'static Registry {
            crate::registry()
        }
        fn grains(&self) -> Arc<Map> {
            Arc::default()
        }
        fn pillar(&self) -> Arc<Map> {
            Arc::default()
        }
        fn compile_pillar(&self, _: &PillarRequest) -> Result<Map, ContextError> {
            Ok(Map::from([("of", "master")]))
        }
        fn request(&self, _: Map) -> Result<Value, ContextError> {
            Ok(true.into())
        }
        fn fire_local(&self, _: &str, _: Map) -> Result<bool, ContextError> {
            Ok(true)
        }
        fn fire_master(&self, _: &str, _: Value) -> Result<bool, ContextError> {
            Ok(true)
        }
        fn running(&self) -> Vec<Map> {
            Vec::new()
        }
        fn signal_job(&self, _: &str, _: i32) -> Result<Option<i64>, ContextError> {
            Ok(None)
        }
        fn refresh(&self, _: Refresh, _: Option<u64>) -> Result<bool, ContextError> {
            Ok(true)
        }
        fn master_connected(&self, _: Option<&str>) -> bool {
            true
        }
        fn ping_master(&self, _: &str) -> bool {
            true
        }
    }

    #[test]
    fn a_run_of_an_archive_reaches_no_master() {
        let minion = Minion(Map::new());
        let pillar = Arc::new(Map::from([("of", "archive")]));
        let run = || StateContext::new(&minion, Map::new(), Arc::clone(&pillar));
        let load = || Map::from([("cmd", "_mine")]);
        let reached = |run: &StateContext<'_>| {
            [
                run.request(load()).is_ok(),
                run.request_beyond(load(), Map::new()).is_ok(),
                run.request_every(load()).is_ok(),
                run.fire_master("tag", Value::Nil).is_ok(),
                run.fire_with(&Map::new(), "tag", Value::Nil).is_ok(),
                run.master_connected(None),
                run.ping_master("m"),
            ]
        };
        assert_eq!(reached(&run()), [true; 7]);

        let files = FileServer::from_roots(RootsOptions::default()).unwrap();
        let archive = run().of_package(&files, Arc::default());
        assert_eq!(reached(&archive), [false; 7]);
        for ran in [
            archive.runner("f", Vec::new(), Map::new()).map(drop),
            archive
                .run_on_master(MasterFunction::Runner, "f", Vec::new(), Map::new())
                .map(drop),
            archive
                .watch_events(Duration::ZERO, &mut |_, _| true)
                .map(drop),
        ] {
            assert!(matches!(ran, Err(ContextError::NoMaster)), "{ran:?}");
        }
        assert!(archive.fire_local("tag", Map::new()).unwrap());

        let mut request = PillarRequest::default();
        assert_eq!(archive.compile_pillar(&request).unwrap(), *pillar);
        request.overrides = Some(Map::from([("a", 1)]));
        let laid_over = archive.compile_pillar(&request).unwrap();
        assert_eq!(laid_over.get("a"), Some(&1.into()));
        assert_eq!(laid_over.get("of"), Some(&"archive".into()));
    }
}
