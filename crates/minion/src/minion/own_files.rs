//! Files and pillar of a minion that uses its own: `salt-call --local`,
//! `file_client: local`.
//!
//! Invariant: the pillar is compiled when it is first used, and then once until it
//! is refreshed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_call::{MinionContext, PillarRequest};
use halite_fileserver::{FileServer, FileServerOptions};
use halite_pillar::{Compiler, GitPillars, LocalFiles, Request, SettingsError};
use halite_proto::{Map, Value};

/// Files and pillar roots of this machine.
pub struct OwnFiles {
    files: LocalFiles,
    compiler: Result<Compiler, SettingsError>,
    pillar: Mutex<Option<Arc<Map>>>,
}

impl OwnFiles {
    /// These files, and the pillar that `opts` describe.
    pub fn new(files: FileServer, opts: &Map) -> Self {
        let compiler = Compiler::new(opts).map(|compiler| {
            let repositories = GitPillars::masterless(opts);
            compiler.with_repositories(Arc::new(repositories))
        });
        Self {
            files: LocalFiles::new(Arc::new(files)),
            compiler,
            pillar: Mutex::default(),
        }
    }

    /// The same from the options alone, where they say that no master is asked
    /// for files.
    ///
    /// # Errors
    /// When an option is wrong; the text says which.
    pub fn of(opts: &Map) -> Result<Option<Self>, String> {
        let is = |name: &str, value: &str| opts.get(name).and_then(Value::as_str) == Some(value);
        let on = |name: &str| opts.get(name).is_some_and(Value::is_true);
        let own = is("file_client", "local") && !on("use_master_when_local")
            || is("master_type", "disable");
        if !own {
            return Ok(None);
        }
        let files =
            FileServerOptions::from_opts(opts).and_then(|options| FileServer::open(&options));
        let files = files.map_err(|error| error.to_string())?;
        Ok(Some(Self::new(files, opts)))
    }

    /// The files.
    pub fn files(&self) -> &LocalFiles {
        &self.files
    }

    /// The pillar that `ctx` holds.
    pub fn pillar(&self, ctx: &dyn MinionContext) -> Arc<Map> {
        // Held while it is compiled: who comes meanwhile waits for the same.
        let mut pillar = self.lock();
        let compiled = || {
            let none = PillarRequest::default();
            Arc::new(self.compile_over(ctx, &none, Arc::default()))
        };
        Arc::clone(pillar.get_or_insert_with(compiled))
    }

    /// A pillar for `request`; the one that is held stays.
    pub fn compile(&self, ctx: &dyn MinionContext, request: &PillarRequest) -> Map {
        let held = self.pillar(ctx);
        self.compile_over(ctx, request, held)
    }

    /// Forgets the pillar that is held.
    pub fn refresh(&self) {
        *self.lock() = None;
    }

    fn compile_over(
        &self,
        ctx: &dyn MinionContext,
        request: &PillarRequest,
        held: Arc<Map>,
    ) -> Map {
        let compiler = match &self.compiler {
            Ok(compiler) => compiler,
            Err(error) => {
                let errors = Value::List(vec![error.to_string().into()]);
                return Map::from([("_errors", errors)]);
            }
        };
        let option = |name: &str| {
            let value = ctx.opts().get(name).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let request = Request {
            id: ctx.id(),
            grains: ctx.grains(),
            saltenv: request.saltenv.clone().or_else(|| option("saltenv")),
            pillarenv: request.pillarenv.clone(),
            overrides: request.overrides.clone().unwrap_or_default(),
            extra_minion_data: Map::new(),
            ext: request.ext.clone(),
            held,
            roots: None,
        };
        halite_pillar::compile(compiler, &request, ctx)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Map>>> {
        self.pillar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
