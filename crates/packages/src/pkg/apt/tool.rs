//! Running `apt-get` and `dpkg`.

use std::time::Duration;

use halite_call::Call;
use halite_call::host::{Program, Ran};
use halite_proto::Value;

use crate::pkg::error::PkgError;

/// How often a locked database is tried again; the pauses double from 2 s.
const LOCK_TRIES_MAX: u32 = 10;

/// Keeps the tools from asking.
const SILENT: &[(&str, &str)] = &[
    ("APT_LISTBUGS_FRONTEND", "none"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("UCF_FORCE_CONFFOLD", "1"),
];

/// Runs one of the tools; waits where another holds the database.
pub(super) fn run(call: &Call<'_>, program: impl Fn() -> Tool) -> Result<Ran, PkgError> {
    let mut pause = 1;
    let mut ran = program().run(call)?;
    for _ in 0..LOCK_TRIES_MAX {
        if !ran.stderr.contains("Could not get lock") {
            break;
        }
        pause *= 2;
        tracing::warn!(pause, "the package database is locked");
        if !call.cancel().sleep(Duration::from_secs(pause)) {
            break;
        }
        ran = program().run(call)?;
    }
    Ok(ran)
}

/// One of the tools with its arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct Tool {
    pub(super) words: Vec<String>,
    pub(super) env: Value,
    pub(super) silent: bool,
    pub(super) scoped: bool,
    pub(super) may_fail: bool,
    pub(super) stdin: Option<String>,
    pub(super) timeout: Option<i64>,
}

impl Tool {
    pub(super) fn new<S: AsRef<str>>(words: &[S]) -> Self {
        Self {
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            ..Self::default()
        }
    }

    /// A tool that changes the system: asks nothing, and does not die with the
    /// minion, which it may itself replace.
    pub(super) fn changing(words: Vec<String>) -> Self {
        Self {
            words,
            silent: true,
            scoped: true,
            ..Self::default()
        }
    }

    fn run(self, call: &Call<'_>) -> Result<Ran, PkgError> {
        let mut words = Vec::new();
        if self.scoped {
            words.extend(crate::scope(call).iter().map(|word| (*word).to_owned()));
        }
        words.extend(self.words);
        let mut program = Program::new(call, &words).envs(&self.env);
        if self.silent {
            for (name, value) in SILENT {
                program = program.env(name, *value);
            }
        }
        if self.may_fail {
            program = program.may_fail();
        }
        if let Some(stdin) = self.stdin {
            program = program.stdin(stdin);
        }
        if let Some(timeout) = self.timeout {
            program = program.option("timeout", timeout);
        }
        Ok(program.run()?)
    }
}
