//! The minion as a state run sees it: with the run's options, its pillar, and
//! grains that the run may have made new.
//!
//! Invariant: nothing of a run is seen outside it; the minion's own options and
//! pillar stay as they are.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use halite_modules::{
    Ahead, ContextError, MasterAnswer, MasterFunction, MinionContext, MinionsAnswer,
    MinionsCommand, PillarRequest, Recall, Refresh, Registry,
};
use halite_proto::request::HeldFile;
use halite_proto::{Map, Value};

/// A minion context with a run's own options and pillar.
pub struct StateContext<'m> {
    minion: &'m dyn MinionContext,
    opts: Map,
    pillar: RwLock<Arc<Map>>,
    request: PillarRequest,
}

impl<'m> StateContext<'m> {
    /// The minion with these options and this pillar.
    pub fn new(minion: &'m dyn MinionContext, opts: Map, pillar: Arc<Map>) -> Self {
        Self {
            minion,
            opts,
            pillar: RwLock::new(pillar),
            request: PillarRequest::default(),
        }
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

    /// Compiles the run's pillar again (`reload_pillar`).
    ///
    /// # Errors
    /// When no master answers; the pillar stays as it is.
    pub fn reload_pillar(&self) -> Result<(), ContextError> {
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
        self.minion.grains()
    }

    fn pillar(&self) -> Arc<Map> {
        let pillar = self.pillar.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&pillar)
    }

    fn compile_pillar(&self, request: &PillarRequest) -> Result<Map, ContextError> {
        self.minion.compile_pillar(request)
    }

    fn request(&self, load: Map) -> Result<Value, ContextError> {
        self.minion.request(load)
    }

    fn request_beyond(&self, load: Map, beyond: Map) -> Result<Value, ContextError> {
        self.minion.request_beyond(load, beyond)
    }

    fn held_files(&self, files: &[HeldFile]) -> Option<Vec<bool>> {
        self.minion.held_files(files)
    }

    fn recall(&self) -> Option<&Recall> {
        self.minion.recall()
    }

    fn ahead(&self) -> Option<Box<dyn Ahead + '_>> {
        self.minion.ahead()
    }

    fn part_is_over(&self) {
        self.minion.part_is_over();
    }

    fn request_every(&self, load: Map) -> Result<Value, ContextError> {
        self.minion.request_every(load)
    }

    fn fire_local(&self, tag: &str, data: Map) -> Result<bool, ContextError> {
        self.minion.fire_local(tag, data)
    }

    fn fire_master(&self, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.minion.fire_master(tag, data)
    }

    fn fire_of_job(&self, jid: &str, tag: &str, data: Value) -> Result<bool, ContextError> {
        self.minion.fire_of_job(jid, tag, data)
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
        self.minion.runner(fun, args, kwargs)
    }

    fn run_on_master(
        &self,
        kind: MasterFunction,
        fun: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<MasterAnswer, ContextError> {
        self.minion.run_on_master(kind, fun, args, kwargs)
    }

    fn command_minions(&self, command: &MinionsCommand) -> Result<MinionsAnswer, ContextError> {
        self.minion.command_minions(command)
    }

    fn watch_events(
        &self,
        wait: Duration,
        seen: &mut dyn FnMut(&str, &Map) -> bool,
    ) -> Result<bool, ContextError> {
        self.minion.watch_events(wait, seen)
    }

    fn master_connected(&self, master: Option<&str>) -> bool {
        self.minion.master_connected(master)
    }

    fn ping_master(&self, master: &str) -> bool {
        self.minion.ping_master(master)
    }
}
