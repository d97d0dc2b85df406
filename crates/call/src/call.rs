//! A running call, from the view of its function: bound arguments, the minion
//! around it, and additional data for the return.

use std::cell::Cell;

use halite_proto::{Map, Value};

use crate::context::MinionContext;
use crate::error::CallError;
use crate::job::{Cancel, Job};
use crate::python;
use crate::signature::{Bound, Signature};

/// A running call.
pub struct Call<'a> {
    /// The minion.
    pub ctx: &'a dyn MinionContext,
    /// The job the call belongs to.
    pub job: &'a Job,
    bound: Bound,
    retcode: &'a Cell<i64>,
    depth: u32,
    function: &'static str,
}

impl<'a> Call<'a> {
    /// A call that no function was looked up for: `depth` is how deep it is within
    /// other calls, and `retcode` takes the return code that it sets.
    pub fn new(
        ctx: &'a dyn MinionContext,
        job: &'a Job,
        bound: Bound,
        retcode: &'a Cell<i64>,
        depth: u32,
    ) -> Self {
        Self {
            ctx,
            job,
            bound,
            retcode,
            depth,
            function: "",
        }
    }

    /// The same call, of a function with this name.
    pub(crate) fn named(self, function: &'static str) -> Self {
        Self { function, ..self }
    }

    /// The signature of the function.
    pub(crate) fn signature(&self) -> &Signature {
        self.bound.signature()
    }

    /// The full name of the function; empty where none was called.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// The parameter `name`, its default if it was not given.
    pub fn arg(&self, name: &str) -> &Value {
        debug_assert!(self.bound.get(name).is_some(), "no parameter {name}");
        self.bound.get(name).unwrap_or(&Value::Nil)
    }

    /// The parameter `name`, or else the keyword argument that a function with
    /// `**kwargs` was given; nothing if there is neither.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.bound.get(name).or_else(|| self.bound.kwargs.get(name))
    }

    /// Whether the caller gave `name`.
    pub fn is_given(&self, name: &str) -> bool {
        self.bound.is_given(name)
    }

    /// The positional arguments that have no name.
    pub fn varargs(&self) -> &[Value] {
        &self.bound.varargs
    }

    /// The keyword arguments that have no place, `__pub_*` included.
    pub fn kwargs(&self) -> &Map {
        &self.bound.kwargs
    }

    /// The keyword arguments that have no place, without those that start with
    /// `__`, which the minion adds.
    pub fn clean_kwargs(&self) -> Map {
        let mut kwargs = self.bound.kwargs.clone();
        kwargs.retain(|key, _| !key.as_str().is_some_and(|key| key.starts_with("__")));
        kwargs
    }

    /// The keyword arguments that are the function's own: without those that
    /// the minion adds, and without those that steer the run of a state
    /// (`require`, `unless`, `order`, ...).
    pub fn own_kwargs(&self) -> Map {
        let mut kwargs = self.clean_kwargs();
        kwargs.retain(|key, _| {
            !key.as_str()
                .is_some_and(halite_state::keywords::is_internal)
        });
        kwargs
    }

    /// The parameter as text; what is not text is written as Python would.
    pub fn text(&self, name: &str) -> String {
        python::str(self.arg(name))
    }

    /// The parameter as text, nothing when it is `None` (or empty).
    pub fn text_opt(&self, name: &str) -> Option<String> {
        self.arg(name).is_true().then(|| self.text(name))
    }

    /// As [`Self::text_opt`], also of keyword arguments that have no place.
    pub fn text_given(&self, name: &str) -> Option<String> {
        let value = self.get(name).filter(|value| value.is_true());
        value.map(python::str)
    }

    /// Python's truth of the parameter.
    pub fn flag(&self, name: &str) -> bool {
        self.arg(name).is_true()
    }

    /// The parameter as an integer, read as Python's `int()` does.
    ///
    /// # Errors
    /// Python's `ValueError` or `TypeError`.
    pub fn int(&self, name: &str) -> Result<i64, CallError> {
        python::int(self.arg(name))
    }

    /// The parameter as a list of texts: a list, or comma separated text.
    pub fn texts(&self, name: &str) -> Vec<String> {
        python::texts(self.arg(name))
    }

    /// Sets the return code of the whole call.
    pub fn set_retcode(&self, retcode: i64) {
        self.retcode.set(retcode);
    }

    /// The return code that was set so far.
    pub fn retcode(&self) -> i64 {
        self.retcode.get()
    }

    /// The end of the job, from outside.
    pub fn cancel(&self) -> &Cancel {
        &self.job.cancel
    }

    /// The option `name`.
    pub fn opt(&self, name: &str) -> &Value {
        self.ctx.opts().get(name).unwrap_or(&Value::Nil)
    }

    /// The option `name` as text.
    pub fn opt_text(&self, name: &str) -> Option<String> {
        let value = self.opt(name);
        value.is_true().then(|| python::str(value))
    }

    /// Whether to say what would change and change nothing: `test` of the
    /// state, else the option.
    pub fn is_test(&self) -> bool {
        match &self.job.state {
            Some(state) => state.test,
            None => self.opt("test").is_true(),
        }
    }

    /// How deep it is within other calls; 0 for what was asked for.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn retcode_cell(&self) -> &'a Cell<i64> {
        self.retcode
    }
}
