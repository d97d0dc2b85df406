//! The file of a state: made and kept by `file.managed`, of which the state is
//! a part.

use std::path::PathBuf;
use std::sync::Arc;

use halite_call::{
    Call, CallError, CallResult, Job, StateReturn, StateScope, os_error, paths, python,
    run_state_function,
};
use halite_proto::{Map, Value};

use crate::encode::Encoded;
use crate::functions::find_pem;

/// Arguments that are those of `file.managed`.
const OF_FILES: [&str; 20] = [
    "user",
    "group",
    "mode",
    "attrs",
    "makedirs",
    "dir_mode",
    "backup",
    "create",
    "follow_symlinks",
    "check_cmd",
    "tmp_dir",
    "tmp_ext",
    "selinux",
    "file_encoding",
    "encoding_errors",
    "win_owner",
    "win_perms",
    "win_deny_perms",
    "win_inheritance",
    "win_perms_reset",
];

/// What to do with the file that is there.
pub(super) enum Look {
    /// The state is finished.
    Done(StateReturn),
    /// The file to manage, with its real path.
    At(TargetFile),
}

pub(super) struct TargetFile {
    pub(super) value: Value,
    pub(super) exists: bool,
    pub(super) replace: bool,
}

/// A file that a state manages.
pub(super) struct Managed<'c, 'a> {
    pub(super) call: &'c Call<'a>,
    name: String,
    arguments: Map,
    /// What the results of `file.managed` were.
    runs: Vec<Value>,
    predicted: Option<Map>,
}

impl<'c, 'a> Managed<'c, 'a> {
    /// Splits arguments: the file's, and what is left.
    pub(super) fn new(call: &'c Call<'a>, kwargs: Map) -> (Self, Map) {
        let mut arguments = Map::from([("show_changes", Value::from(false))]);
        let mut rest = Map::new();
        for (key, value) in kwargs {
            let text = python::str(&key);
            if OF_FILES.contains(&text.as_str()) {
                let text = if text == "file_encoding" {
                    "encoding".to_owned()
                } else {
                    text
                };
                arguments.insert(text, value);
            } else if !halite_state::keywords::is_internal(&text)
                && !["name_order", "__agg__", "aggregate", "force_reload_modules"]
                    .contains(&text.as_str())
            {
                rest.insert(key, value);
            }
        }
        let managed = Self {
            call,
            name: call.text("name"),
            arguments,
            runs: Vec::new(),
            predicted: None,
        };
        (managed, rest)
    }

    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.get(name).filter(|value| value.is_true())
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.arguments.insert(name, value);
    }

    /// `file.managed` with more arguments.
    fn run(&self, test: bool, more: Map) -> Result<Map, CallError> {
        let mut kwargs = self.arguments.clone();
        kwargs.insert("name", self.name.as_str());
        kwargs.extend(more);
        let old = self.call.job.state.as_deref();
        let mut low = old.map(|scope| scope.low.clone()).unwrap_or_default();
        for (key, value) in [("state", "file"), ("fun", "managed"), ("name", &self.name)] {
            low.insert(key, value);
        }
        let job = Job {
            state: Some(Arc::new(StateScope {
                test: test || self.call.is_test(),
                low,
                run_id: old.map(|scope| scope.run_id.clone()).unwrap_or_default(),
                memo: old.map(|scope| Arc::clone(&scope.memo)).unwrap_or_default(),
                ..StateScope::default()
            })),
            ..self.call.job.clone()
        };
        let done = run_state_function(self.call.ctx, "file.managed", Vec::new(), kwargs, &job)?;
        match done {
            Value::Map(map) => Ok(map),
            other => Err(CallError::command(format!(
                "Failed running file.managed in x509_v2 state: {}",
                python::str(&other)
            ))),
        }
    }

    /// Remembers a result of `file.managed`.
    fn remember(&mut self, mut run: Map) {
        let scope = self.call.job.state.as_deref();
        let id = scope.and_then(|scope| scope.low.get("__id__").cloned());
        run.insert(
            "low",
            Map::from([
                ("name", Value::from(self.name.as_str())),
                ("state", "file".into()),
                ("__id__", id.unwrap_or_else(|| self.name.as_str().into())),
                ("fun", "managed".into()),
            ]),
        );
        self.runs.push(run.into());
    }

    fn finished(&mut self, mut state: StateReturn) -> StateReturn {
        if !self.runs.is_empty() {
            let runs = Value::List(std::mem::take(&mut self.runs));
            state.more.insert("sub_state_run", runs);
        }
        state
    }

    /// Sees whether the file can be managed, and where it really is.
    pub(super) fn look(&mut self, state: &StateReturn) -> Result<Look, CallError> {
        let replace_nothing = Map::from([("replace", false)]);
        let predicted = self.run(true, replace_nothing)?;
        let said = predicted
            .get("comment")
            .map(python::str)
            .unwrap_or_default();
        if predicted.get("result") == Some(&Value::Bool(false)) {
            self.remember(predicted);
            let state = state
                .clone()
                .failed("Problem while testing file.managed changes, see its output");
            return Ok(Look::Done(self.finished(state)));
        }
        if said.contains("is not present and is not set for creation") {
            self.remember(predicted);
            return Ok(Look::Done(self.finished(state.clone())));
        }
        self.predicted = Some(predicted);
        let mut path = PathBuf::from(&self.name);
        let mut value = Value::from(self.name.as_str());
        let mut replace = false;
        if path.is_symlink() {
            let follow = self.arguments.get("follow_symlinks");
            if follow.is_none_or(Value::is_true) {
                path = std::fs::canonicalize(&path).unwrap_or(path);
                value = path.display().to_string().into();
            } else {
                if !self.call.is_test() {
                    paths::remove_file(&path).map_err(|error| os_error(&error, &self.name))?;
                }
                replace = true;
            }
        }
        let exists = !replace && path.is_file();
        Ok(Look::At(TargetFile {
            value,
            exists,
            replace,
        }))
    }

    /// The rest of a state once the file has been compared with what is wanted:
    /// it holds, it would change, or what `make` gives is written. `make` is
    /// told what changes; `has_old` says whether the file held one of its kind.
    pub(super) fn finish(
        &mut self,
        mut state: StateReturn,
        what: &str,
        mut compared: Map,
        (place, has_old): (&TargetFile, bool),
        make: impl FnOnce(&Map) -> Result<Encoded, CallError>,
    ) -> Result<StateReturn, CallError> {
        if !place.exists {
            compared.insert("created", self.call.arg("name").clone());
        }
        if place.replace {
            compared.insert("replaced", self.call.arg("name").clone());
        }
        state.changes = compared;
        let verb = match has_old && !state.changes.is_empty() {
            true => "recreate",
            false => "create",
        };
        if let Some(done) = self.settle(&mut state, what, verb) {
            return Ok(done);
        }
        if state.changes.is_empty() {
            return self.write(state, None, has_old);
        }
        let encoded = make(&state.changes)?;
        state.comment = format!("The {what} has been {verb}d").into();
        self.write(state, Some(&encoded), has_old)
    }

    /// The end of a state that has nothing to write: it holds, or something
    /// would change. Nothing if there is something to do.
    pub(super) fn settle(
        &mut self,
        state: &mut StateReturn,
        what: &str,
        verb: &str,
    ) -> Option<StateReturn> {
        let predicted = self.predicted.clone().unwrap_or_default();
        let file_changes = predicted.get("changes").is_some_and(Value::is_true);
        let file_fine = predicted.get("result") == Some(&Value::Bool(true));
        if state.changes.is_empty() && file_fine && !file_changes {
            self.remember(predicted);
            return Some(self.finished(state.clone()));
        }
        if self.call.is_test() {
            if !state.changes.is_empty() {
                state.result = None;
                state.comment = format!("The {what} would have been {verb}d").into();
            }
            self.remember(predicted);
            return Some(self.finished(state.clone()));
        }
        None
    }

    /// Writes the file, or only its mode and owner.
    pub(super) fn write(
        &mut self,
        mut state: StateReturn,
        content: Option<&Encoded>,
        exists: bool,
    ) -> Result<StateReturn, CallError> {
        let run = match content {
            None => self.run(false, Map::from([("replace", false)]))?,
            Some(content) if content.is_text => {
                let more = Map::from([
                    ("replace", Value::from(true)),
                    ("contents", content.shown().into()),
                ]);
                self.run(false, more)?
            }
            Some(content) => self.write_binary(content)?,
        };
        let fine = run.get("result") != Some(&Value::Bool(false));
        self.remember(run);
        if !fine {
            let verb = if exists { "update" } else { "create" };
            state = state.failed(format!("Could not {verb} file, see file.managed output"));
            state.changes = Map::new();
        }
        Ok(self.finished(state))
    }

    /// Through a file of our own, which `file.managed` copies.
    fn write_binary(&self, content: &Encoded) -> Result<Map, CallError> {
        let cache = self
            .call
            .opt_text("cachedir")
            .unwrap_or_else(|| "/tmp".to_owned());
        let name = format!(".x509-{}-{:p}", std::process::id(), content);
        let path = PathBuf::from(cache).join(name);
        crate::files::write_bytes(&path, &content.bytes)?;
        let more = Map::from([
            ("replace", Value::from(true)),
            ("source", path.display().to_string().into()),
            ("skip_verify", true.into()),
        ]);
        let done = self.run(false, more);
        let _ = paths::remove_file(&path);
        done
    }
}

/// A failure is a result, not an exception.
pub(super) fn outcome(state: StateReturn, done: Result<StateReturn, CallError>) -> CallResult {
    match done {
        Ok(done) => Ok(done.into()),
        Err(error @ (CallError::Command(_) | CallError::Invocation(_))) => {
            let mut state = state.failed(error.to_string());
            state.changes = Map::new();
            Ok(state.into())
        }
        Err(error) => Err(error),
    }
}

pub(super) fn unrecognized(kwargs: &Map) -> Result<(), CallError> {
    if kwargs.is_empty() {
        return Ok(());
    }
    let names = kwargs.iter().map(|(key, _)| key.clone()).collect();
    Err(CallError::invocation(format!(
        "Unrecognized keyword arguments: {}",
        python::repr(&Value::List(names))
    )))
}

pub(super) fn pem_managed(call: &Call<'_>) -> CallResult {
    let (managed, rest) = Managed::new(call, call.kwargs().clone());
    unrecognized(&rest)?;
    let state = StateReturn::of(call);
    let pem = match find_pem(call.arg("text"), None) {
        Ok(pem) => pem,
        Err(error) => return outcome(state, Err(error)),
    };
    Ok(managed.run(false, Map::from([("contents", pem)]))?.into())
}
