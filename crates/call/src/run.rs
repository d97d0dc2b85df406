//! One call from its name and arguments to its return: the only entry.
//!
//! Invariant: nothing that a function does, not even a panic, gets past
//! [`run_function`]; the texts of failures are those of Salt's minion.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::signature::{Bound, Signature};
use halite_proto::{Map, Value};

use crate::args;
use crate::call::Call;
use crate::context::MinionContext;
use crate::error::{CallError, CallResult};
use crate::extensions::{self, ExtensionKind};
use crate::host_root::Host;
use crate::job::Job;
use crate::limits::CALL_DEPTH_MAX;
use crate::registry::Function;
use crate::requirement::Unmet;

/// What a call came to: the fields of a return.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The return; for a failure its text, as Salt's minion words it.
    pub ret: Value,
    /// The return code.
    pub retcode: i64,
    /// Whether the return code is 0.
    pub success: bool,
    /// The outputter the return asks for.
    pub out: Option<&'static str>,
    /// What went wrong, for callers that say it in their own way.
    pub failure: Option<Failure>,
}

/// Why a call has no result of its own.
#[derive(Debug, Clone)]
pub enum Failure {
    /// There is no such function; the text says which.
    NotAvailable(String),
    /// The function failed.
    Call {
        /// In which way.
        error: CallError,
        /// The function's documentation, which goes with wrong arguments.
        doc: String,
    },
}

impl Outcome {
    fn failed(text: String, failure: Failure) -> Self {
        Self {
            ret: Value::Str(text),
            retcode: 1,
            success: false,
            out: Some("nested"),
            failure: Some(failure),
        }
    }
}

/// Runs the function `fun` with arguments as they came: positional values,
/// maps marked `__kwarg__`, and texts of the form `name=value`.
pub fn run_function(ctx: &dyn MinionContext, fun: &str, args: &[Value], job: &Job) -> Outcome {
    run_with(ctx, fun, args, job, |function, args, kwargs, retcode| {
        call(ctx, job, function, args, kwargs, retcode, 0)
    })
}

/// As [`run_function`], with somebody else to call the function.
pub(crate) fn run_with(
    ctx: &dyn MinionContext,
    fun: &str,
    args: &[Value],
    job: &Job,
    run: impl FnOnce(&'static Function, Vec<Value>, Map, &Cell<i64>) -> CallResult,
) -> Outcome {
    let Some(function) = find(ctx, fun) else {
        let why = extensions::why_missing(ctx, ExtensionKind::Modules, fun)
            .or_else(|| unmet(ctx, fun).map(|unmet| unmet.of_functions()));
        let text = why.unwrap_or_else(|| format!("'{fun}' is not available."));
        return Outcome::failed(text.clone(), Failure::NotAvailable(text));
    };
    let retcode = Cell::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let (args, kwargs) = split(function, args, job)?;
        run(function, args, kwargs, &retcode)
    }))
    .unwrap_or_else(|panic| {
        let message = panic_text(&*panic);
        tracing::error!(fun, message, "a function panicked");
        Err(CallError::exception("SystemError", message))
    });
    match result {
        Ok(ret) => finish(function, ret, retcode.get()),
        Err(error) => {
            tracing::debug!(fun, %error, "the function failed");
            let text = failure_text(function, &error);
            let doc = function.doc_text();
            Outcome::failed(text, Failure::Call { error, doc })
        }
    }
}

/// Runs the state function `fun` (`file.managed`) with the arguments of a low
/// chunk by name; what the function does not take and no `**kwargs` catches is
/// an error of the arguments. The result is the state's map.
///
/// # Errors
/// What the function fails with; a panic is a `SystemError`, an unknown
/// function a `KeyError`.
pub fn run_state_function(
    ctx: &dyn MinionContext,
    fun: &str,
    args: Vec<Value>,
    kwargs: Map,
    job: &Job,
) -> CallResult {
    let function = extensions::function(ctx, ExtensionKind::States, fun)
        .or_else(|| match ctx.registry().state(fun) {
            Some(_) => own_state(ctx, fun),
            None => extensions::of_salt(ctx, ExtensionKind::States, fun),
        })
        .ok_or_else(|| CallError::exception("KeyError", format!("'{fun}'")))?;
    let retcode = Cell::new(0);
    catch_unwind(AssertUnwindSafe(|| {
        call(ctx, job, function, args, kwargs, &retcode, 0)
    }))
    .unwrap_or_else(|panic| {
        let message = panic_text(&*panic);
        tracing::error!(fun, message, "a state function panicked");
        Err(CallError::exception("SystemError", message))
    })
}

impl Call<'_> {
    /// The execution function `fun`, if it exists here.
    pub fn has_function(&self, fun: &str) -> bool {
        find(self.ctx, fun).is_some()
    }

    /// The execution function `fun` itself, if it exists here: for its
    /// signature.
    pub fn find_function(&self, fun: &str) -> Option<&'static Function> {
        find(self.ctx, fun)
    }

    /// Calls another function as part of this one (`__salt__['x.y'](...)`); it
    /// shares its return code.
    ///
    /// # Errors
    /// What that function fails with; `KeyError` when there is none.
    pub fn salt(&self, fun: &str, args: &[Value], kwargs: Map) -> CallResult {
        let depth = self.depth();
        if depth >= CALL_DEPTH_MAX {
            return Err(CallError::exception(
                "RecursionError",
                "functions call each other too deeply",
            ));
        }
        let (ctx, job) = (self.ctx, self.job);
        let function =
            find(ctx, fun).ok_or_else(|| CallError::exception("KeyError", format!("'{fun}'")))?;
        let retcode = self.retcode_cell();
        call(
            ctx,
            job,
            function,
            args.to_vec(),
            kwargs,
            retcode,
            depth + 1,
        )
    }
}

/// Calls a function that users brought: a beacon, a returner.
///
/// # Errors
/// What it fails with.
pub fn run_plugin(
    from: &Call<'_>,
    function: &'static Function,
    args: Vec<Value>,
    kwargs: Map,
) -> CallResult {
    let (ctx, job) = (from.ctx, from.job);
    let retcode = from.retcode_cell();
    call(ctx, job, function, args, kwargs, retcode, from.depth() + 1)
}

/// Does something as if within a function: what it calls is called from a
/// function, not as a job of its own.
pub fn within_call<T>(ctx: &dyn MinionContext, job: &Job, body: impl FnOnce(&Call<'_>) -> T) -> T {
    let retcode = Cell::new(0);
    body(&Call::new(ctx, job, Bound::default(), &retcode, 1))
}

/// Whether there is an execution function `fun` without an installed Salt.
pub(crate) fn is_own(ctx: &dyn MinionContext, fun: &str) -> bool {
    let users = || extensions::function(ctx, ExtensionKind::Modules, fun).is_some();
    let own = || ctx.registry().get(fun).is_some() && unmet(ctx, fun).is_none();
    (own() || users()) && is_enabled(ctx, fun)
}

/// The execution function `fun`, if it exists and is not switched off. A user's
/// function hides ours of the same name, as in Salt; one of a Salt that is
/// installed is the last resort.
fn find(ctx: &dyn MinionContext, fun: &str) -> Option<&'static Function> {
    extensions::function(ctx, ExtensionKind::Modules, fun)
        .or_else(|| match ctx.registry().get(fun) {
            Some(function) => unmet(ctx, fun).is_none().then_some(function),
            None => extensions::of_salt(ctx, ExtensionKind::Modules, fun),
        })
        .filter(|_| is_enabled(ctx, fun))
}

/// Our state function `fun`, if the machine has what it needs.
pub(crate) fn own_state(ctx: &dyn MinionContext, fun: &str) -> Option<&'static Function> {
    let brings = |module: &str| extensions::has_module(ctx, ExtensionKind::Modules, module);
    let function = ctx.registry().state(fun)?;
    let refused = unmet(ctx, fun).is_some_and(|unmet| unmet.refuses_states(brings));
    (!refused).then_some(function)
}

/// What the machine lacks for our functions of that module.
fn unmet(ctx: &dyn MinionContext, fun: &str) -> Option<Unmet> {
    let host = Host::new(ctx.opts());
    ctx.registry().unmet(fun, |program| host.has(program))
}

fn call(
    ctx: &dyn MinionContext,
    job: &Job,
    function: &'static Function,
    args: Vec<Value>,
    kwargs: Map,
    retcode: &Cell<i64>,
    depth: u32,
) -> CallResult {
    let signature = signature(function, job)?;
    let bound = signature
        .bind_shared(&function.python_name(), args, kwargs)
        .map_err(CallError::Arguments)?;
    if let Some(signal) = job.cancel.ended_by() {
        return Err(CallError::Ended(signal));
    }
    (function.run)(&Call::new(ctx, job, bound, retcode, depth).named(function.name))
}

/// Parts positional from keyword arguments; the fields of the publication come
/// along where a function takes any keyword.
fn split(
    function: &'static Function,
    args: &[Value],
    job: &Job,
) -> Result<(Vec<Value>, Map), CallError> {
    let signature = signature(function, job)?;
    let parted = args::part(args);
    let mut kwargs = Map::new();
    let mut invalid = Vec::new();
    for (key, value) in parted.named {
        if key.as_str().is_some_and(|key| signature.takes_keyword(key)) {
            kwargs.insert(key, value);
        } else {
            invalid.push(format!(
                "{}={}",
                crate::python::str(&key),
                crate::python::str(&value)
            ));
        }
    }
    if !invalid.is_empty() {
        return Err(CallError::Invocation(format!(
            "The following keyword arguments are not valid: {}",
            invalid.join(", ")
        )));
    }
    if signature.kwargs.is_some() {
        for (key, value) in &job.load {
            if let Some(key) = key.as_str() {
                kwargs.insert(format!("__pub_{key}"), value.clone());
            }
        }
        // What 3008 says of what a master has published, not of `salt-call`:
        // resources have no jobs here.
        if job.load.contains_key("tgt_type") {
            kwargs.insert("__pub_resource_targets", Vec::<Value>::new());
            kwargs.insert("__pub_pure_resource_target", false);
            kwargs.insert("__pub_minion_is_target", true);
        }
    }
    Ok((parted.positional, kwargs))
}

fn signature(function: &'static Function, job: &Job) -> Result<Arc<Signature>, CallError> {
    job.signatures
        .parsed(function.signature)
        .map_err(|error| CallError::exception("SystemError", error.to_string()))
}

fn finish(function: &Function, ret: Value, retcode: i64) -> Outcome {
    let retcode = if retcode == 0 && says_failed(&ret) {
        1
    } else {
        retcode
    };
    Outcome {
        ret,
        retcode,
        success: retcode == 0,
        out: function.out,
        failure: None,
    }
}

/// A map with a false `result` or `success` is a failure.
fn says_failed(ret: &Value) -> bool {
    ret.as_map().is_some_and(|map| {
        ["result", "success"]
            .iter()
            .any(|key| map.get(key).is_some_and(|value| !value.is_true()))
    })
}

fn failure_text(function: &Function, error: &CallError) -> String {
    let fun = function.name;
    match error {
        CallError::Command(text) => format!("ERROR: {text}"),
        CallError::Invocation(text) => format!("ERROR executing '{fun}': {text}"),
        CallError::NotFound(text) => format!("Command required for '{fun}' not found: {text}"),
        CallError::Arguments(text) => {
            format!(
                "Passed invalid arguments to {fun}: {text}\n{}",
                function.doc
            )
        }
        CallError::Exception {
            trace: Some(trace), ..
        } => format!("The minion function caused an exception: {trace}"),
        CallError::Exception { .. } => format!(
            "The minion function caused an exception: Traceback (most recent call last):\n  \
             File \"halite\", in {fun}\n{error}\n"
        ),
        CallError::Ended(signal) => format!("ERROR: the job was ended by signal {signal}"),
    }
}

/// `disable_modules` and `whitelist_modules`.
fn is_enabled(ctx: &dyn MinionContext, fun: &str) -> bool {
    let module = fun.split('.').next().unwrap_or(fun);
    let listed = |option: &str| {
        ctx.opts()
            .get(option)
            .and_then(Value::as_list)
            .filter(|list| !list.is_empty())
            .map(|list| list.iter().any(|name| name.as_str() == Some(module)))
    };
    listed("disable_modules") != Some(true) && listed("whitelist_modules") != Some(false)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the function panicked".to_owned())
}
