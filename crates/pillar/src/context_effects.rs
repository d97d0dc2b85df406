//! The effects of a compilation carried out by a context: renderers with the
//! functions of a master or minion, and the files of the pillar roots for imports.
//!
//! Invariant: functions see the grains of the minion whose pillar it is and
//! the pillar as it is at that moment; they run on the machine that compiles.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use halite_call::extensions::{ExtensionKind, plugin};
use halite_call::{
    Call, CallRenderContext, Cancel, Commander, ContextError, Daemon, Files, Job, Jobs, LocalBus,
    MasterBus, MinionContext, PillarRequest, Recall, Refresh, Registry, Runners, TimeLimit,
    Upstream, run_plugin, within_call,
};
use halite_proto::{Map, Value};
use halite_render::{ContextFile, RenderContextError, Renderer, Returned, SlsRequest, TextRequest};

use crate::compiler::Compiler;
use crate::effects::{Effects, Failure, Known, Module, Sls};
use crate::limits::EXT_COMMAND_MAX;
use crate::request::Request;
use crate::tree::{Found, Tree};

/// The pillar of a minion, compiled with the functions of `base`.
pub fn compile(compiler: &Compiler, request: &Request, base: &dyn MinionContext) -> Map {
    with_effects(compiler, request, base, |effects| {
        compiler.compile(request, effects)
    })
}

/// What the top files say for a minion, rendered with the functions of `base`.
///
/// # Errors
/// What is wrong with them, in Salt's words.
pub fn top(
    compiler: &Compiler,
    request: &Request,
    base: &dyn MinionContext,
) -> Result<Map, Vec<String>> {
    with_effects(compiler, request, base, |effects| {
        compiler.top(request, effects)
    })
}

fn with_effects<T>(
    compiler: &Compiler,
    request: &Request,
    base: &dyn MinionContext,
    work: impl FnOnce(&ContextEffects<'_>) -> T,
) -> T {
    let context = PillarContext {
        base,
        opts: compiler.opts_for(request),
        grains: Arc::clone(&request.grains),
        pillar: Mutex::new(Arc::clone(&request.held)),
    };
    within_call(&context, &Job::default(), |call| {
        let templates = PillarTemplates {
            functions: CallRenderContext::new(call),
            context: &context,
            tree: compiler.tree(request),
            files: RefCell::default(),
        };
        work(&ContextEffects {
            compiler,
            call,
            context: &context,
            renderer: Renderer::new(&templates),
        })
    })
}

/// What functions see: the context that compiles, with the options, grains and
/// pillar of the minion.
struct PillarContext<'a> {
    base: &'a dyn MinionContext,
    opts: Map,
    grains: Arc<Map>,
    pillar: Mutex<Arc<Map>>,
}

impl PillarContext<'_> {
    /// The options of external pillars, which are the master's.
    fn opts_of_modules(&self) -> Map {
        let mut opts = self.opts.clone();
        if let Some(id) = self.base.opts().get("id") {
            opts.insert("id", id.clone());
        }
        opts
    }

    /// What external pillars in Python see: they are the master's, so that the
    /// options name it, and the pillar is what the files say.
    fn for_modules(&self, files: &Map) -> Self {
        let mut opts = self.opts_of_modules();
        // For the worker: Salt's external pillars find none in their options.
        opts.insert("__without_pillar", true);
        Self {
            base: self.base,
            opts,
            grains: Arc::clone(&self.grains),
            pillar: Mutex::new(Arc::new(files.clone())),
        }
    }
}

impl MinionContext for PillarContext<'_> {
    fn opts(&self) -> &Map {
        &self.opts
    }

    fn registry(&self) -> &'static Registry {
        self.base.registry()
    }

    fn grains(&self) -> Arc<Map> {
        Arc::clone(&self.grains)
    }

    fn pillar(&self) -> Arc<Map> {
        let pillar = self.pillar.lock();
        Arc::clone(&pillar.unwrap_or_else(PoisonError::into_inner))
    }

    fn compile_pillar(&self, _request: &PillarRequest) -> Result<Map, ContextError> {
        // Or a pillar would be compiled while it is compiled.
        Ok(Map::clone(&self.pillar()))
    }

    fn refresh(&self, what: Refresh, _wait: Option<u64>) -> Result<bool, ContextError> {
        match what {
            // Refreshing the pillar from within the pillar would not end.
            Refresh::Grains | Refresh::Pillar { .. } => Ok(false),
            what => self.base.refresh(what, None),
        }
    }

    /// What a pillar has read is not what the job around it will read again.
    fn recall(&self) -> Option<&Recall> {
        None
    }

    fn files(&self) -> &dyn Files {
        self.base.files()
    }

    fn upstream(&self) -> Result<&dyn Upstream, ContextError> {
        self.base.upstream()
    }

    fn master_bus(&self) -> Result<&dyn MasterBus, ContextError> {
        self.base.master_bus()
    }

    fn local_bus(&self) -> Option<&dyn LocalBus> {
        self.base.local_bus()
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        self.base.jobs()
    }

    /// The schedule and the beacons may wait for the very pillar that is being
    /// compiled.
    fn daemon(&self) -> Option<&dyn Daemon> {
        None
    }

    fn runners(&self) -> Result<&dyn Runners, ContextError> {
        self.base.runners()
    }

    /// A pillar commands nothing, whoever has it compiled.
    fn commander(&self, what: &'static str) -> Result<&dyn Commander, ContextError> {
        Err(ContextError::Unsupported { what })
    }
}

/// What templates see.
struct PillarTemplates<'a> {
    functions: CallRenderContext<'a>,
    context: &'a PillarContext<'a>,
    tree: Tree,
    files: RefCell<HashMap<(String, String), Option<ContextFile>>>,
}

impl PillarTemplates<'_> {
    fn read(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        let Some(found) = self.tree.find(path, saltenv) else {
            return Ok(None);
        };
        let bytes = found
            .read()
            .map_err(|error| RenderContextError::exception("OSError", error))?;
        Ok(Some(ContextFile {
            path: found.path,
            bytes: bytes.into(),
        }))
    }
}

impl halite_render::RenderContext for PillarTemplates<'_> {
    fn opts(&self) -> &Map {
        &self.context.opts
    }

    fn grains(&self) -> Arc<Map> {
        self.context.grains()
    }

    fn pillar(&self) -> Arc<Map> {
        self.context.pillar()
    }

    fn has_function(&self, fun: &str) -> bool {
        self.functions.has_function(fun)
    }

    fn has_module(&self, module: &str) -> bool {
        self.functions.has_module(module)
    }

    fn call(
        &self,
        fun: &str,
        args: &mut Vec<Value>,
        kwargs: &mut Map,
    ) -> Result<Returned, RenderContextError> {
        self.functions.call(fun, args, kwargs)
    }

    fn file(&self, path: &str, saltenv: &str) -> Result<Option<ContextFile>, RenderContextError> {
        let key = (path.to_owned(), saltenv.to_owned());
        if let Some(known) = self.files.borrow().get(&key) {
            return Ok(known.clone());
        }
        let file = self.read(path, saltenv)?;
        self.files.borrow_mut().insert(key, file.clone());
        Ok(file)
    }
}

/// Carries out what the compiler of one pillar asks for.
struct ContextEffects<'a> {
    compiler: &'a Compiler,
    call: &'a Call<'a>,
    context: &'a PillarContext<'a>,
    renderer: Renderer<'a>,
}

impl Effects for ContextEffects<'_> {
    fn render(&self, sls: &Sls<'_>, pillar: &Arc<Map>) -> Result<Value, Failure> {
        {
            let mut seen = self
                .context
                .pillar
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if !Arc::ptr_eq(&seen, pillar) {
                *seen = Arc::clone(pillar);
            }
        }
        let request = SlsRequest::file(sls.bytes, sls.name, sls.saltenv, &sls.file.path);
        let request = request.with_context(sls.defaults);
        self.renderer.sls(&request).map_err(|error| Failure {
            text: error.to_string(),
            place: error.place().map(ToString::to_string),
        })
    }

    fn decrypt(&self, renderer: &str, value: Value) -> Result<Value, String> {
        halite_call::decrypt(&self.renderer, renderer, value)
    }

    fn command(&self, command: &str, through_shell: bool) -> Result<String, String> {
        let fun = if through_shell {
            "cmd.run_stdout"
        } else {
            "cmd.run"
        };
        let options = Map::from([
            ("python_shell", Value::from(through_shell)),
            ("timeout", EXT_COMMAND_MAX.as_secs().into()),
            // What it writes is the pillar, which is not to be logged.
            ("output_loglevel", "quiet".into()),
        ]);
        match self.call.salt(fun, &[command.into()], options) {
            Ok(Value::Str(output)) => Ok(output),
            Ok(_) => Ok(String::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn compile(&self, request: &Request) -> Map {
        compile(self.compiler, request, self.context.base)
    }

    fn module(
        &self,
        module: &Module,
        request: &Request,
        known: Known<'_>,
    ) -> Result<Value, String> {
        let name = &module.name;
        let context = self.context.for_modules(known.files);
        let Some(function) = plugin(
            &context,
            ExtensionKind::Pillars,
            &format!("{name}.ext_pillar"),
        ) else {
            let why = "there is no such external pillar, neither here nor in Python \
                       (`salt-run saltutil.sync_pillar` fetches those of `_pillar`)";
            return Err(why.to_owned());
        };
        let mut args = vec![request.id.as_str().into(), known.so_far.clone().into()];
        args.extend(module.args.iter().cloned());
        let mut kwargs = module.kwargs.clone();
        let signature = function.parse_signature().unwrap_or_default();
        let mut params = signature.params.iter();
        // What a minion does not say is left to the function's default.
        if !request.extra_minion_data.is_empty()
            && params.any(|param| param.name == "extra_minion_data")
        {
            kwargs.insert("extra_minion_data", request.extra_minion_data.clone());
        }
        let cancel = Cancel::default();
        let _limit = TimeLimit::start(cancel.clone(), EXT_COMMAND_MAX, "an external pillar");
        let job = Job {
            cancel,
            ..Job::default()
        };
        within_call(&context, &job, |call| {
            run_plugin(call, function, args, kwargs).map_err(|error| error.to_string())
        })
    }

    fn opts_of_modules(&self) -> Map {
        self.context.opts_of_modules()
    }

    fn render_plain(&self, bytes: &[u8], file: &Found, names: &Map) -> Result<String, String> {
        let request = TextRequest {
            path: Some(&file.path),
            saltenv: None,
            context: Some(names),
            ..TextRequest::new(bytes)
        };
        self.renderer
            .plain(&request)
            .map_err(|error| error.to_string())
    }

    fn render_text(&self, bytes: &[u8], file: &Found, renderers: &str) -> Result<Value, String> {
        let request = SlsRequest {
            path: Some(&file.path),
            renderer: Some(renderers),
            ..SlsRequest::new(bytes)
        };
        self.renderer
            .sls(&request)
            .map_err(|error| error.to_string())
    }
}
