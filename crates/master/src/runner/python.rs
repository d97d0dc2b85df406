//! Custom runners in Python (`runner_dirs`, `module_dirs`, and `_runners`, fetched
//! by `saltutil.sync_runners`). They run in the worker of [`halite_pyworker`], and
//! their `__salt__` has the runners.
//!
//! Invariant: the worker is asked only for names that a file of the directories may
//! have.

use std::any::Any;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use halite_call::Signature;
use halite_proto::{Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers, directories, may_have};

use super::error::{Ran, RunnerError};
use super::{Call, Runners, table};
use crate::error::chain;
use crate::functions::{UsersFunction, listed_functions, scope};

/// The kind of these modules, and their directory.
const KIND: &str = "runners";

/// The function of that name, if there is one.
pub(super) fn find(runners: &Arc<Runners>, name: &str) -> Option<UsersFunction> {
    let (module, function) = name.split_once('.')?;
    if !may_have(&directories(&runners.general.opts, KIND), module) {
        return None;
    }
    let all = listed_functions(&listed(runners)?);
    all.into_iter().find(|found| {
        let own = found.name.split_once('.');
        own == Some((module, function))
    })
}

/// The documentation of all of them.
pub(super) fn docs(runners: &Arc<Runners>) -> Map {
    let has_files = directories(&runners.general.opts, KIND)
        .iter()
        .any(|directory| fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()));
    let listed = has_files.then(|| listed(runners)).flatten();
    let all = listed.as_ref().map(listed_functions).unwrap_or_default();
    all.into_iter()
        .map(|found| (Value::from(found.name), Value::from(found.doc)))
        .collect()
}

/// The files that the worker can load.
fn listed(runners: &Arc<Runners>) -> Option<Value> {
    let request = Request::List { kind: KIND };
    Workers::global()
        .run(
            &Host {
                runners,
                call: None,
            },
            request,
        )
        .map_err(|error| tracing::error!("users' runners could not be read: {}", chain(&error)))
        .ok()
}

impl UsersFunction {
    /// The arguments as they were given: what was not has the function's own
    /// default, which may be more than its text says.
    fn arguments(&self, call: &Call<'_>) -> Result<(Vec<Value>, Map), RunnerError> {
        let signature = Signature::parse(&self.signature)
            .map_err(|error| RunnerError::Failed(error.to_string()))?;
        let bound = &call.bound;
        let (mut args, mut kwargs) = (Vec::new(), bound.kwargs.clone());
        let by_place = !bound.varargs.is_empty();
        for param in &signature.params {
            if by_place {
                args.push(call.arg(&param.name).clone());
            } else if bound.is_given(&param.name) {
                kwargs.insert(param.name.as_str(), call.arg(&param.name).clone());
            }
        }
        args.extend(bound.varargs.iter().cloned());
        for param in &signature.keyword_only {
            if bound.is_given(&param.name) {
                kwargs.insert(param.name.as_str(), call.arg(&param.name).clone());
            }
        }
        Ok((args, kwargs))
    }

    /// Runs it.
    pub(super) fn run(&self, call: &Call<'_>) -> Ran {
        let (args, kwargs) = self.arguments(call)?;
        let host = Host {
            runners: call.runners,
            call: Some(call),
        };
        let request = Request::Call {
            kind: KIND,
            name: &self.name,
            args: &args,
            kwargs: &kwargs,
            scope: &scope(call.jid, call.tag(), call.user),
            salt: false,
            job: Some(call.jid.as_str()),
        };
        Workers::global()
            .run(&host, request)
            .map_err(|error| match error {
                PyError::Raised(raised) => RunnerError::Python(raised.trace),
                error => RunnerError::Failed(chain(&error)),
            })
    }
}

/// The functions of the master that the code of a runner may call.
struct Host<'a> {
    runners: &'a Arc<Runners>,
    /// None while files are read.
    call: Option<&'a Call<'a>>,
}

impl Host<'_> {
    fn called(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Ran {
        let call = self.call.ok_or_else(|| {
            RunnerError::Failed(format!("'{fun}' cannot be called while modules are read"))
        })?;
        call.stop.check()?;
        let found = table::find(self.runners, fun)
            .map_err(|_| RunnerError::Failed(format!("'{fun}' is not available.")))?;
        found.run(&call.nested(&found, args, kwargs)?)
    }
}

impl PyHost for Host<'_> {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => {
                let mut opts = self.runners.general.opts.clone();
                opts.insert("__cli", "salt-run");
                opts.into()
            }
            _ => Map::new().into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        match kind {
            KIND | "utils" => directories(&self.runners.general.opts, kind),
            _ => Vec::new(),
        }
    }

    fn has_function(&self, fun: &str) -> bool {
        table::is_ours(fun) || table::find(self.runners, fun).is_ok()
    }

    fn call(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        self.called(fun, args, kwargs).map_err(|error| {
            let class = match &error {
                RunnerError::BadArguments(_) => "TypeError",
                _ => "CommandExecutionError",
            };
            Raised::new(class, chain(&error))
        })
    }

    fn event(&self, tag: &str, data: Map) -> Result<(), Raised> {
        let refused = || Raised::new("RuntimeError", "only a running runner can fire events");
        let call = self.call.ok_or_else(refused)?;
        call.event(tag, data);
        Ok(())
    }

    fn watch(&self, group: i32) -> Box<dyn Any> {
        match self.call {
            Some(call) => Box::new(call.stop.cancel().watch(group)),
            None => Box::new(()),
        }
    }
}
