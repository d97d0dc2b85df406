//! Custom wheel functions in Python (`_wheel`, fetched by `salt-run
//! saltutil.sync_wheel`). They see the options of the wheel, and may fire events
//! about themselves; as in Salt they call no other functions.
//!
//! Invariant: none can block a worker for ever.

use std::any::Any;
use std::fs;
use std::path::PathBuf;

use halite_call::{Cancel, TimeLimit};
use halite_proto::{Jid, Map, Value};
use halite_pyworker::{PyError, PyHost, Raised, Request, Workers, directories, may_have};

use super::Wheel;
use crate::error::chain;
use crate::functions::{listed_functions, scope};
use crate::limits::PYTHON_WHEEL_MAX;

/// The kind of these modules, and their directory.
const KIND: &str = "wheel";

/// A function of users.
pub(super) struct Users {
    name: String,
}

/// The function of that name, if a file may have it and Python says that it
/// does.
pub(super) fn find(wheel: &Wheel, name: &str) -> Option<Users> {
    let (module, _) = name.split_once('.')?;
    if !may_have(&directories(&wheel.general.opts, KIND), module) {
        return None;
    }
    let mut all = listed_functions(&listed(wheel)?).into_iter();
    let is_there = all.any(|found| found.name == name);
    is_there.then(|| Users {
        name: name.to_owned(),
    })
}

/// What Python knows of the files.
fn listed(wheel: &Wheel) -> Option<Value> {
    Host::new(wheel, None)
        .run(Request::List { kind: KIND })
        .map_err(|error| {
            tracing::error!("users' wheel modules could not be read: {}", chain(&error));
        })
        .ok()
}

/// The documentation of all of them. Where no file is, no Python is started.
pub(super) fn docs(wheel: &Wheel) -> Map {
    let has_files = directories(&wheel.general.opts, KIND)
        .iter()
        .any(|directory| fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()));
    let listed = has_files.then(|| listed(wheel)).flatten();
    let all = listed.as_ref().map(listed_functions).unwrap_or_default();
    all.into_iter()
        .map(|found| (Value::from(found.name), Value::from(found.doc)))
        .collect()
}

impl Users {
    /// Runs it; `job` is its id, its tag and who asks.
    pub(super) fn run(
        &self,
        wheel: &Wheel,
        args: Vec<Value>,
        kwargs: Map,
        job: (&Jid, &str, &str),
    ) -> Result<Value, String> {
        let (jid, tag, user) = job;
        let request = Request::Call {
            kind: KIND,
            name: &self.name,
            args: &args,
            kwargs: &kwargs,
            scope: &scope(jid, tag, user),
            salt: false,
            job: Some(jid.as_str()),
        };
        Host::new(wheel, Some(tag))
            .run(request)
            .map_err(|error| match error {
                PyError::Raised(raised) => raised.trace,
                error => chain(&error),
            })
    }
}

/// The functions of the master that the code may call.
struct Host<'a> {
    wheel: &'a Wheel,
    /// What events about the run begin with; none while files are read.
    tag: Option<&'a str>,
    /// The end of what takes too long.
    cancel: Cancel,
}

impl<'a> Host<'a> {
    fn new(wheel: &'a Wheel, tag: Option<&'a str>) -> Self {
        Self {
            wheel,
            tag,
            cancel: Cancel::default(),
        }
    }

    fn run(&self, request: Request<'_>) -> Result<Value, PyError> {
        let what = "a user's wheel function";
        let _limit = TimeLimit::start(self.cancel.clone(), PYTHON_WHEEL_MAX, what);
        Workers::global().run(self, request)
    }
}

impl PyHost for Host<'_> {
    fn data(&self, name: &str) -> Value {
        match name {
            "opts" => self.wheel.general.opts.clone().into(),
            _ => Map::new().into(),
        }
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        match kind {
            KIND | "utils" => directories(&self.wheel.general.opts, kind),
            _ => Vec::new(),
        }
    }

    fn has_function(&self, _fun: &str) -> bool {
        false
    }

    fn call(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        Err(Raised::new("KeyError", format!("'{fun}'")))
    }

    fn event(&self, tag: &str, data: Map) -> Result<(), Raised> {
        if let Some(own) = self.tag {
            self.wheel.bus.fire(&format!("{own}/{tag}"), data);
        }
        Ok(())
    }

    fn watch(&self, group: i32) -> Box<dyn Any> {
        Box::new(self.cancel.watch(group))
    }
}
