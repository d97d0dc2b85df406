//! Compiling the pillars of minions: several at once, on threads of their own, so
//! that a slow pillar delays only other pillars.
//!
//! Invariant: no value of a pillar reaches a log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use halite_pillar::{Compiler, GitPillars, Request, SettingsError};
use halite_proto::{Map, Value};

use super::tops::Tops;
use crate::core::turns::Turns;
use crate::functions::Functions;
use crate::limits::{
    PILLAR_THREADS_MAX, PILLARS_WAITING_MAX, PILLARS_WAITING_PER_MINION_MAX, REQUEST_WAIT_MAX,
};
use crate::pillar_cache::PillarCache;
use crate::settings::General;
use crate::workers::{LaneLimits, NoRoom, Work, Workers};

/// Something to be done on the threads for pillars.
struct Task {
    work: Option<Box<dyn FnOnce() + Send>>,
    /// Tasks that are not done yet, this one included.
    undone: Arc<AtomicUsize>,
}

impl Work for Task {
    fn bytes(&self) -> usize {
        // Their number is bound instead.
        0
    }
}

impl Task {
    fn new(work: impl FnOnce() + Send + 'static, undone: &Arc<AtomicUsize>) -> Self {
        undone.fetch_add(1, Ordering::Relaxed);
        Self {
            work: Some(Box::new(work)),
            undone: Arc::clone(undone),
        }
    }

    fn run(mut self) {
        if let Some(work) = self.work.take() {
            work();
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.undone.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Pillars come in bursts; between them nobody needs their memory.
            halite_process::memory::give_back();
        }
    }
}

/// The compiler of pillars with its threads.
pub(crate) struct Pillars {
    compiler: Compiler,
    /// The repositories of `ext_pillar`.
    pub(crate) git: Arc<GitPillars>,
    functions: Arc<Functions>,
    /// `master_tops`.
    pub(crate) tops: Tops,
    /// Pillars and tops that minions wait for.
    pub(crate) turns: Turns,
    lane: Workers<Task>,
    undone: Arc<AtomicUsize>,
    pub(crate) cache: Option<Arc<PillarCache>>,
}

/// Why there is nobody to compile pillars.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PillarsError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("could not start a thread")]
    Thread(#[from] io::Error),
    /// The value of `pillar_cache_backend`.
    #[error("{0:?} is not supported: use disk or memory")]
    Backend(String),
}

impl Pillars {
    /// Reads the options and starts the threads.
    ///
    /// # Errors
    /// When an option is wrong or a thread cannot be started.
    pub(crate) fn start(
        general: &General,
        git: Arc<GitPillars>,
        threads: usize,
        functions: Arc<Functions>,
        tops: Tops,
    ) -> Result<Self, PillarsError> {
        let opts = &general.opts;
        let cache = PillarCache::from_opts(opts, &general.cachedir);
        // Rendering is arithmetic: more threads than processors would only take
        // turns, and each keeps memory. Commands are waited for.
        let waits = opts.get("ext_pillar").is_some_and(Value::is_true);
        let busy_max = match available_parallelism() {
            Ok(processors) if !waits => processors.get().min(PILLAR_THREADS_MAX),
            _ => PILLAR_THREADS_MAX,
        };
        let limits = LaneLimits {
            threads: threads.clamp(1, busy_max),
            gives_way: false,
            busy_per_origin_max: usize::MAX,
            waiting_max: PILLARS_WAITING_MAX,
            bytes_max: usize::MAX,
            wait_max: REQUEST_WAIT_MAX,
        };
        Ok(Self {
            compiler: Compiler::new(opts)?.with_repositories(git.clone()),
            git,
            functions,
            tops,
            turns: Turns::new(PILLARS_WAITING_PER_MINION_MAX, usize::MAX),
            // Who waits for a task that is too late sees that it is gone.
            lane: Workers::start("pillar", limits, Task::run, drop)?,
            undone: Arc::default(),
            cache: cache.map_err(PillarsError::Backend)?.map(Arc::new),
        })
    }

    /// Has `work` done on a thread for pillars.
    ///
    /// # Errors
    /// When too much is waiting already.
    pub(crate) fn submit(&self, work: impl FnOnce() + Send + 'static) -> Result<(), NoRoom> {
        self.lane.submit(Task::new(work, &self.undone))?;
        Ok(())
    }

    /// The pillar of a minion, from the cache if that is on and has it for the
    /// minion's `key`; without a key it is compiled.
    pub(crate) fn pillar(&self, request: &Request, key: Option<&str>, clean_cache: bool) -> Map {
        let is_masters = request.ext.is_none() && !self.takes_minion_data(request);
        let cache = self.cache.as_ref().filter(|_| is_masters);
        let Some((cache, key)) = cache.zip(key) else {
            return self.compile(request);
        };
        let env = self.env_of(request);
        let (id, env) = (request.id.as_str(), env.as_deref());
        if clean_cache {
            cache.remove(id, env);
        }
        let pillar = cache.get(id, env, key).unwrap_or_else(|| {
            let plain = Request {
                overrides: Map::new(),
                ..request.clone()
            };
            let pillar = self.compile(&plain);
            cache.put(id, env, key, &pillar);
            pillar
        });
        self.compiler.lay_over(pillar, &request.overrides)
    }

    /// Whether what the minion says of itself may be a part of its pillar.
    pub(crate) fn takes_minion_data(&self, request: &Request) -> bool {
        self.compiler.takes_minion_data(request)
    }

    /// The environment of a pillar that is another one than the minion's usual.
    pub(crate) fn env_of(&self, request: &Request) -> Option<String> {
        self.compiler.env_of(request)
    }

    /// The pillar of a minion, compiled now.
    pub(crate) fn compile(&self, request: &Request) -> Map {
        halite_pillar::compile(&self.compiler, request, self.functions.context())
    }

    /// The rendered top files of the pillar for a minion.
    ///
    /// # Errors
    /// What is wrong with them, in Salt's words.
    pub(crate) fn top(&self, request: &Request) -> Result<Map, Vec<String>> {
        halite_pillar::top(&self.compiler, request, self.functions.context())
    }

    /// Forgets the cached pillars of a minion.
    pub(crate) fn forget(&self, id: &str) {
        if let Some(cache) = &self.cache {
            cache.forget(id);
        }
    }

    /// The cached pillar of a minion.
    pub(crate) fn cached(&self, id: &str, pillarenv: Option<&str>) -> Option<Map> {
        self.cache.as_ref()?.show(id, pillarenv)
    }

    /// Whether compiled pillars are cached.
    pub(crate) fn caches(&self) -> bool {
        self.cache.is_some()
    }
}
