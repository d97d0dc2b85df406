//! The functions that the master runs itself: for its pillars, its runners, its
//! reactor, and custom Python code.

mod python;

use std::sync::{Arc, OnceLock};

use halite_call::{ContextError, Registry};
use halite_fileserver::FileServer;
use halite_grains::GrainsOptions;
use halite_pillar::MasterlessContext;
use halite_proto::{Map, Value};

pub(crate) use self::python::{UsersFunction, listed_functions, scope};

/// Runs a runner for a function, and hands on what it returns.
pub(crate) type RunRunner =
    Box<dyn Fn(&str, Vec<Value>, Map) -> Result<Value, ContextError> + Send + Sync>;

/// The context of functions that run on the master.
pub(crate) struct Functions {
    context: MasterlessContext,
    /// How functions run runners, once the master has them.
    run_runner: Arc<OnceLock<RunRunner>>,
}

impl Functions {
    /// With the functions of `registry` and the files for minions.
    pub(crate) fn new(opts: &Map, registry: &'static Registry, files: Arc<FileServer>) -> Self {
        let run_runner: Arc<OnceLock<RunRunner>> = Arc::default();
        let context = MasterlessContext::new(opts.clone(), registry, files)
            .with_runners(Box::new({
                let run_runner = Arc::clone(&run_runner);
                move |fun: &str, args, kwargs| match run_runner.get() {
                    Some(run) => run(fun, args, kwargs),
                    None => Err(ContextError::NoRunners),
                }
            }))
            .with_grains(Box::new({
                let id = opts.get("id").and_then(Value::as_str).unwrap_or_default();
                let options = GrainsOptions {
                    id: id.to_owned(),
                    ..GrainsOptions::default()
                };
                move || halite_grains::collect(&options)
            }));
        Self {
            context,
            run_runner,
        }
    }

    /// Lets functions run runners.
    pub(crate) fn connect(&self, run_runner: RunRunner) {
        let _ = self.run_runner.set(run_runner);
    }

    /// The context of a call.
    pub(crate) fn context(&self) -> &MasterlessContext {
        &self.context
    }
}
