//! Calls of Python code: the request to the worker, its calls back to us, and its
//! failures.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, directories};

use super::ExtensionKind;
use crate::call::Call;
use crate::context::MinionContext;
use crate::error::{CallError, CallResult};
use crate::registry::Registry;
use crate::run;

/// Runs the function of a call in the worker.
pub(super) fn run_in_worker(call: &Call<'_>, kind: ExtensionKind, salt: bool) -> CallResult {
    let mut scope = Map::new();
    if let (ExtensionKind::States, Some(state)) = (kind, &call.job.state) {
        let env = state.low.get("__env__").cloned();
        scope.insert("__low__", state.low.clone());
        scope.insert("__instance_id__", state.run_id.as_str());
        scope.insert("__env__", env.unwrap_or_else(|| "base".into()));
        // Of what has run, those that this one reacts to.
        scope.insert("__running__", state.watched.clone());
    }
    let fun = call.function();
    let signature = call.signature();
    let mut args = Vec::new();
    let mut kwargs = call.kwargs().clone();
    let by_place = !call.varargs().is_empty();
    for param in &signature.params {
        let value = call.arg(&param.name).clone();
        if by_place {
            args.push(value);
        } else if call.is_given(&param.name) {
            kwargs.insert(param.name.as_str(), value);
        }
    }
    args.extend(call.varargs().iter().cloned());
    for param in &signature.keyword_only {
        if call.is_given(&param.name) {
            kwargs.insert(param.name.as_str(), call.arg(&param.name).clone());
        }
    }
    let request = Request::Call {
        kind: kind.name(),
        name: fun,
        args: &args,
        kwargs: &kwargs,
        scope: &scope,
        salt,
        job: call.job.jid(),
    };
    kind.workers()
        .run(&CallHost(call), request)
        .map_err(|error| failure(fun, error))
}

/// The error of a function in the kinds that ours have.
pub(super) fn failure(fun: &str, error: PyError) -> CallError {
    let PyError::Raised(raised) = error else {
        return CallError::Command(format!("{fun}: {error}"));
    };
    // Of Salt's own exceptions whoever called is shown one line.
    tracing::debug!(fun, "{}", raised.trace.trim_end());
    if raised.is("SaltInvocationError") {
        return CallError::Invocation(raised.message);
    }
    if raised.is("CommandNotFoundError") {
        return CallError::NotFound(raised.message);
    }
    if raised.is("CommandExecutionError") {
        return CallError::Command(raised.message);
    }
    // Salt takes each of them for one of the call.
    if raised.is("TypeError") {
        return CallError::Arguments(raised.message);
    }
    CallError::Exception {
        kind: class(raised.class_name()),
        message: raised.message,
        trace: Some(raised.trace.into()),
    }
}

/// The name of an exception's class, kept for good. Users have few of them;
/// of very many the rest is just an exception.
fn class(name: &str) -> &'static str {
    static KEPT: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = kept.get(name) {
        return kept;
    }
    if kept.len() >= crate::limits::PYTHON_CLASSES_MAX {
        return "Exception";
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    kept.insert(name);
    name
}

/// What Python code may ask of the call that runs it.
pub(super) struct CallHost<'c>(pub(super) &'c Call<'c>);

fn data(ctx: &dyn MinionContext, name: &str) -> Value {
    match name {
        "opts" => ctx.opts().clone().into(),
        "grains" => Map::clone(&ctx.grains()).into(),
        _ => Map::clone(&ctx.pillar()).into(),
    }
}

fn raised(error: CallError) -> Raised {
    match error {
        CallError::Command(message) => Raised::new("CommandExecutionError", message),
        CallError::Invocation(message) => Raised::new("SaltInvocationError", message),
        CallError::NotFound(message) => Raised::new("CommandNotFoundError", message),
        CallError::Arguments(message) => Raised::new("TypeError", message),
        CallError::Exception { kind, message, .. } => Raised::new(kind, message),
        ended @ CallError::Ended(_) => Raised::new("CommandExecutionError", ended.to_string()),
    }
}

impl PyHost for CallHost<'_> {
    fn data(&self, name: &str) -> Value {
        let mut value = data(self.0.ctx, name);
        if let (Value::Map(opts), "opts", Some(state)) = (&mut value, name, &self.0.job.state) {
            opts.insert("test", state.test);
        }
        value
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        directories(self.0.ctx.opts(), kind)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.0.has_function(fun)
    }

    fn has_own_function(&self, fun: &str) -> bool {
        run::is_own(self.0.ctx, fun)
    }

    fn call(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        self.0.salt(fun, &args, kwargs).map_err(raised)
    }

    fn has_state(&self, fun: &str) -> bool {
        run::own_state(self.0.ctx, fun).is_some()
    }

    fn call_state(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        run::run_state_function(self.0.ctx, fun, args, kwargs, self.0.job).map_err(raised)
    }

    fn retcode(&self, retcode: i64) {
        self.0.set_retcode(retcode);
    }

    fn watch(&self, group: i32) -> Box<dyn std::any::Any> {
        Box::new(self.0.cancel().watch(group))
    }
}

/// What modules see while they are read: no call runs yet, so none of their
/// own goes out.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) opts: Map,
    pub(super) grains: Arc<Map>,
    pub(super) pillar: Arc<Map>,
    pub(super) registry: &'static Registry,
}

impl Snapshot {
    pub(super) fn of(ctx: &dyn MinionContext) -> Self {
        Self {
            opts: ctx.opts().clone(),
            grains: ctx.grains(),
            pillar: ctx.pillar(),
            registry: ctx.registry(),
        }
    }
}

impl PyHost for Snapshot {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => self.opts.clone().into(),
            "grains" => Map::clone(&self.grains).into(),
            _ => Map::clone(&self.pillar).into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        directories(&self.opts, kind)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.registry.get(fun).is_some()
    }

    fn call(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        let message = format!("'{fun}' cannot be called while modules are read");
        Err(Raised::new("CommandExecutionError", message))
    }
}
