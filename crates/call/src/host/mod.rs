//! The machine that functions work on: where its files are, where its programs are
//! found, and how one is run.
//!
//! Invariant: a function that uses this can be tested against an artificial root
//! and recorded programs, since the two internal options `__host_root__` and
//! `__host_path__` move all of it.

pub mod accounts;
pub mod mounts;
mod quiet;

use std::io::Write;
use std::path::Path;
use std::{fs, io};

use halite_proto::{Map, Value};

use crate::call::Call;
use crate::context::MinionContext;
use crate::error::CallError;
use crate::os_error::os_error;
use crate::replace::{Dress, place_followed};
use crate::{paths, python};

pub use crate::host_root::{Host, is_executable};
pub use quiet::{Answer, run_quietly, which};

impl Host {
    /// The machine of this minion.
    pub fn of(ctx: &dyn MinionContext) -> Self {
        Self::new(ctx.opts())
    }

    /// The text of a file that will be written again, empty if there is none.
    /// What could not be read, or is no text, would be lost.
    ///
    /// # Errors
    /// When it is there and cannot be read as text.
    pub fn read_to_change(&self, path: impl AsRef<Path>) -> Result<String, CallError> {
        let path = path.as_ref();
        match paths::read_to_string(self.path(path)) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) if error.raw_os_error().is_some() => Err(os_error(&error, path)),
            Err(error) => {
                let path = path.display();
                Err(CallError::command(format!(
                    "could not read {path}: {error}"
                )))
            }
        }
    }
}

impl Call<'_> {
    /// The machine that the call works on.
    pub fn host(&self) -> Host {
        Host::of(self.ctx)
    }
}

/// What a program came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// Its return code.
    pub code: i64,
    /// What it wrote, without white space at the end.
    pub stdout: String,
    /// Its complaints.
    pub stderr: String,
}

impl Ran {
    /// Whether the return code is 0.
    pub fn ok(&self) -> bool {
        self.code == 0
    }

    /// The complaints, or else the output.
    pub fn complaint(&self) -> &str {
        if self.stderr.is_empty() {
            &self.stdout
        } else {
            &self.stderr
        }
    }
}

/// A program to run, without a shell, through `cmd.run_all`.
#[must_use]
pub struct Program<'c, 'a> {
    call: &'c Call<'a>,
    words: Vec<Value>,
    env: Map,
    kwargs: Map,
}

impl<'c, 'a> Program<'c, 'a> {
    /// The program and its arguments.
    pub fn new<S: AsRef<str>>(call: &'c Call<'a>, words: &[S]) -> Self {
        Self {
            call,
            words: words
                .iter()
                .map(|word| Value::from(word.as_ref()))
                .collect(),
            env: Map::new(),
            kwargs: Map::from([("python_shell", Value::from(false))]),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, word: impl Into<String>) -> Self {
        self.words.push(Value::Str(word.into()));
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.env.insert(name, value);
        self
    }

    /// Adds variables of a map or of a list of maps.
    pub fn envs(mut self, value: &Value) -> Self {
        match value {
            Value::Map(map) => self.env.extend(map.clone()),
            Value::List(items) => {
                for map in items.iter().filter_map(Value::as_map) {
                    self.env.extend(map.clone());
                }
            }
            _ => {}
        }
        self
    }

    /// What it reads.
    pub fn stdin(self, text: impl Into<String>) -> Self {
        self.option("stdin", text.into())
    }

    /// A failure of it is nothing to complain about.
    pub fn may_fail(self) -> Self {
        self.option("ignore_retcode", true)
    }

    /// Runs as another user, if one is named.
    pub fn user(self, user: Option<&str>) -> Self {
        match user {
            Some(user) => self.option("runas", user),
            None => self,
        }
    }

    /// Runs in a directory, if one is named.
    pub fn cwd(self, cwd: Option<&str>) -> Self {
        match cwd {
            Some(cwd) => self.option("cwd", cwd),
            None => self,
        }
    }

    /// An option of `cmd.run_all`.
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.kwargs.insert(name, value);
        self
    }

    /// The words as they are, for messages.
    pub fn words(&self) -> Vec<String> {
        self.words.iter().map(python::str).collect()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it cannot be started. A return code other than 0 is no error here.
    pub fn run(self) -> Result<Ran, CallError> {
        let ret = self.run_all()?;
        let text = |name| ret.get(name).map(python::str).unwrap_or_default();
        Ok(Ran {
            code: ret.get("retcode").and_then(Value::as_i64).unwrap_or(-1),
            stdout: text("stdout"),
            stderr: text("stderr"),
        })
    }

    /// Runs it to its end, for what `cmd.run_all` returns.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_all(mut self) -> Result<Value, CallError> {
        if let Some(search) = self.call.host().search() {
            self.env.insert("PATH", search);
        }
        if !self.env.is_empty() {
            self.kwargs.insert("env", self.env);
        }
        self.call
            .salt("cmd.run_all", &[Value::List(self.words)], self.kwargs)
    }
}

/// Replaces the content of a file at once: a reader sees the old or the new.
/// Owner and mode stay; a new file gets mode 0644. A link is followed.
///
/// # Errors
/// When the directory does not take the new file.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let write = |file: &mut fs::File| {
        file.write_all(content)?;
        file.sync_all()
    };
    place_followed(path, Dress::kept(0o644), write).map(drop)
}

/// What Salt takes for true in arguments: true, positive numbers, and the text
/// `true` in any case.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Int(int) => *int > 0,
        Value::Float(float) => *float > 0.0,
        Value::Str(text) => text.eq_ignore_ascii_case("true"),
        other => other.is_true(),
    }
}

/// Refuses a name that a program would take for an option.
///
/// # Errors
/// When it is one, or empty.
pub fn plain(name: &str) -> Result<(), CallError> {
    match name.is_empty() || name.starts_with('-') {
        true => Err(CallError::invocation(format!("not a name: {name:?}"))),
        false => Ok(()),
    }
}

/// Refuses to go on without a program.
///
/// # Errors
/// When the machine does not have it.
pub fn need(call: &Call<'_>, program: &str) -> Result<(), CallError> {
    match call.host().has(program) {
        true => Ok(()),
        false => Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        ))),
    }
}

/// Runs a program with these words.
///
/// # Errors
/// When it cannot be run.
pub fn run(call: &Call<'_>, words: &[&str]) -> Result<Ran, CallError> {
    Program::new(call, words).run()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn truth_is_that_of_salt() {
        for (value, truth) in [
            (Value::from("True"), true),
            ("yes".into(), false),
            ((-1).into(), false),
            (vec![Value::Nil].into(), true),
        ] {
            assert_eq!(is_true(&value), truth, "{value:?}");
        }
    }

    #[test]
    fn a_root_moves_every_path() {
        let opts = Map::from([("__host_root__", "/r"), ("__host_path__", "/nowhere")]);
        let host = Host::new(&opts);
        assert_eq!(host.path("/etc/x"), Path::new("/r/etc/x"));
        assert!(!host.has("sh"));
        assert!(Host::default().has("sh"));
    }
}
