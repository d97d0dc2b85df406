//! `onlyif`, `unless`, `creates` and `check_cmd`.
//!
//! Salt 3008.5, `State._run_check*`. An empty list of conditions counts as no
//! condition.

use halite_proto::python;
use halite_proto::{Map, Value};

use super::machine::Machine;
use super::slots;
use crate::chunk::Chunk;

/// The arguments of a state that its condition commands are run with, too.
const SHARED: [&str; 7] = [
    "cwd",
    "root",
    "runas",
    "env",
    "prepend_path",
    "timeout",
    "success_retcodes",
];

/// What stands for the return code of a command that could not be run.
const NOT_RUN: i64 = 100;

/// What the conditions of a state said.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// The state is not to be called.
    pub(super) skip: bool,
    skip_watch: bool,
    comments: Vec<String>,
}

impl Checked {
    fn add(&mut self, one: Heard) {
        self.skip |= one.skip;
        self.skip_watch |= one.skip;
        self.comments.extend(one.comment);
    }

    /// The result of a state that is not called. Its comment stays a list, as
    /// which `retry` cites it.
    pub(super) fn into_record(self, chunk: &Chunk) -> Map {
        let own = |key: &str| chunk.get(key).cloned().unwrap_or_default();
        let comments: Vec<Value> = self.comments.into_iter().map(Value::from).collect();
        let mut record = Map::from([
            ("result", Value::Bool(true)),
            ("name", own("name")),
            ("changes", Map::new().into()),
            ("comment", comments.into()),
            ("__sls__", own("__sls__")),
            ("__id__", own("__id__")),
        ]);
        if self.skip_watch {
            record.insert("skip_watch", true);
        }
        record
    }
}

/// What one kind of condition said.
#[derive(Debug, Default)]
struct Heard {
    skip: bool,
    comment: Option<String>,
}

impl Heard {
    fn new(skip: bool, comment: impl Into<String>) -> Self {
        Self {
            skip,
            comment: Some(comment.into()),
        }
    }
}

/// Which way a condition decides.
#[derive(Clone, Copy, PartialEq)]
enum ConditionKind {
    Onlyif,
    Unless,
}

impl ConditionKind {
    fn name(self) -> &'static str {
        match self {
            Self::Onlyif => "onlyif",
            Self::Unless => "unless",
        }
    }

    /// What is said when an entry was found true or false.
    fn heard(self, truth: bool) -> Heard {
        let skip = truth == (self == Self::Unless);
        Heard::new(skip, format!("{} condition is {truth}", self.name()))
    }
}

impl Machine {
    /// Whether the state has conditions that are checked here.
    pub(super) fn has_conditions(&self, chunk: &Chunk) -> bool {
        let own = format!("{}.mod_run_check", chunk.state());
        ["onlyif", "unless", "creates"]
            .iter()
            .any(|key| chunk.has(key))
            && !self.functions.has_state(&own)
    }

    /// Checks the conditions.
    ///
    /// # Errors
    /// The traceback of a condition that cannot be checked.
    pub(super) async fn conditions(&self, chunk: &Chunk) -> Result<Checked, String> {
        let options = self.command_options(chunk);
        let mut checked = Checked::default();
        for kind in [ConditionKind::Onlyif, ConditionKind::Unless] {
            if let Some(entries) = chunk.get(kind.name()) {
                checked.add(self.entries(kind, entries, &options).await?);
            }
        }
        if let Some(paths) = chunk.get("creates") {
            checked.add(self.creates(paths).await);
        }
        Ok(checked)
    }

    /// `onlyif` runs the state if every entry is true; `unless` leaves it if
    /// every entry is. The first that is not decides.
    async fn entries(
        &self,
        kind: ConditionKind,
        entries: &Value,
        options: &Map,
    ) -> Result<Heard, String> {
        let one;
        let entries = match entries {
            Value::List(entries) => entries.as_slice(),
            entry => {
                one = [entry.clone()];
                &one
            }
        };
        let mut heard = Heard::default();
        for entry in entries {
            let truth = match entry {
                Value::Str(command) => {
                    // What cannot be run speaks for leaving the state.
                    let unrun = if kind == ConditionKind::Onlyif {
                        NOT_RUN
                    } else {
                        0
                    };
                    self.command(command, options, unrun).await? == 0
                }
                Value::Map(call) => match call.get("fun") {
                    Some(fun) => self.call_is_true(&python::str(fun), call).await?,
                    None => {
                        let comment = format!(
                            "no `fun` argument in {}: {}",
                            kind.name(),
                            python::repr(entry)
                        );
                        return Ok(Heard::new(false, comment));
                    }
                },
                _ if kind == ConditionKind::Onlyif => {
                    return Ok(Heard::new(
                        false,
                        "onlyif execution failed, bad type passed",
                    ));
                }
                _ => {
                    heard = Heard::new(false, "unless condition is false, bad type passed");
                    continue;
                }
            };
            heard = kind.heard(truth);
            if !truth {
                return Ok(heard);
            }
        }
        Ok(heard)
    }

    async fn command(&self, command: &str, options: &Map, unrun: i64) -> Result<i64, String> {
        let mut kwargs = Map::from([("ignore_retcode", true), ("python_shell", true)]);
        kwargs.extend(options.clone());
        let args = vec![Value::from(command)];
        match self.port.salt("cmd.retcode", args, kwargs).await {
            Ok(returned) => Ok(returned.value.as_i64().unwrap_or(NOT_RUN)),
            Err(fault) if fault.command => Ok(unrun),
            Err(fault) => Err(fault.trace),
        }
    }

    /// A function as a condition: its return code if it set one, else whether
    /// its return, or a part of it, is true.
    async fn call_is_true(&self, fun: &str, call: &Map) -> Result<bool, String> {
        let mut kwargs = call.clone();
        kwargs.remove("fun");
        let part = kwargs.remove("get_return").filter(Value::is_true);
        let args = match kwargs.remove("args") {
            Some(Value::List(args)) => args,
            Some(Value::Nil) | None => Vec::new(),
            Some(one) => vec![one],
        };
        let (args, kwargs) = self.fill_slots(args, kwargs).await?;
        let returned = self
            .port
            .salt(fun, args, kwargs)
            .await
            .map_err(|fault| fault.trace)?;
        if returned.retcode != 0 {
            return Ok(false);
        }
        Ok(match part {
            Some(path) => slots::traverse(&returned.value, &python::str(&path), ":")
                .is_some_and(Value::is_true),
            None => returned.value.is_true(),
        })
    }

    async fn creates(&self, paths: &Value) -> Heard {
        match paths {
            Value::Str(path) if self.port.exists(path).await => {
                Heard::new(true, format!("{path} exists"))
            }
            Value::List(paths) => {
                for path in paths {
                    if !self.port.exists(&python::str(path)).await {
                        return Heard::new(false, "Creates files not found");
                    }
                }
                Heard::new(true, "All files in creates exist")
            }
            _ => Heard::new(false, "Creates files not found"),
        }
    }

    /// `check_cmd`: whether the state did what it should.
    ///
    /// # Errors
    /// The traceback of a command that cannot be run.
    pub(super) async fn check_cmd(&self, chunk: &Chunk) -> Result<Option<Map>, String> {
        let Some(commands) = chunk.get("check_cmd") else {
            return Ok(None);
        };
        // Functions that know the argument check by themselves.
        let own = format!("{}.mod_run_check_cmd", chunk.state());
        if self.functions.has_state(&own)
            && let Some(parameters) = self.functions.state(&chunk.full_name())
            && parameters.names("check_cmd")
        {
            return Ok(None);
        }
        let mut options = Map::new();
        if let Some(shell) = &self.options.shell {
            options.insert("shell", shell.clone());
        }
        let one;
        let commands = match commands {
            Value::List(commands) => commands.as_slice(),
            command => {
                one = [command.clone()];
                &one
            }
        };
        let mut good = false;
        for command in commands {
            good = self
                .command(&python::str(command), &options, NOT_RUN)
                .await?
                == 0;
            if !good {
                break;
            }
        }
        let word = if good { "succeeded" } else { "failed" };
        let own = |key: &str| chunk.get(key).cloned().unwrap_or_default();
        Ok(Some(Map::from([
            ("result", Value::Bool(good)),
            ("__sls__", own("__sls__")),
            ("__id__", own("__id__")),
            ("name", own("name")),
            (
                "comment",
                format!("check_cmd determined the state {word}").into(),
            ),
        ])))
    }

    fn command_options(&self, chunk: &Chunk) -> Map {
        let excluded: Vec<&str> = match chunk.get("cmd_opts_exclude") {
            Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(name) => name.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        let mut options = Map::new();
        for key in SHARED {
            if let Some(value) = chunk.get(key)
                && !excluded.contains(&key)
            {
                options.insert(key, value.clone());
            }
        }
        let own_shell = chunk.get("shell").filter(|_| !excluded.contains(&"shell"));
        if let Some(shell) = own_shell.or(self.options.shell.as_ref()) {
            options.insert("shell", shell.clone());
        }
        options
    }
}
