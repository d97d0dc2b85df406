//! The programs that an administrator runs beside a master.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::json;

use super::Master;
use crate::kind::{Kind, Program};
use crate::output::Output;
use crate::process::{Recipe, run};

/// How long a tool may run before it counts as hung.
const TOOL_DEADLINE: Duration = Duration::from_secs(120);

/// The programs of one kind beside a master.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'master> {
    pub(super) master: &'master Master,
    pub(super) kind: Kind,
}

impl Tools<'_> {
    /// Runs `salt`.
    pub fn salt(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Salt, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-key`.
    pub fn key(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Key, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-key` and types `answers` at its prompts.
    pub fn key_with(self, args: &[&str], answers: &str) -> Result<Output> {
        run(
            &self.recipe(Program::Key, args)?.stdin(answers),
            TOOL_DEADLINE,
        )
    }

    /// Runs `salt-run`.
    pub fn runner(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Run, args)?, TOOL_DEADLINE)
    }

    /// Runs `salt-cp`.
    pub fn cp(self, args: &[&str]) -> Result<Output> {
        run(&self.recipe(Program::Cp, args)?, TOOL_DEADLINE)
    }

    /// How to run a program with the master's configuration.
    pub fn recipe(self, program: Program, args: &[&str]) -> Result<Recipe> {
        let path = self.master.programs.path(self.kind, program)?;
        let conf = self.master.dir.display().to_string();
        Ok(Recipe::new(program.name(), path, &self.master.home)
            .args(&["-c", &conf])
            .args(args))
    }

    /// Runs a Python script with the interpreter of this kind; its first
    /// argument is the master's file.
    pub fn python(self, script: &str) -> Result<Output> {
        let path = self.master.programs.path(self.kind, Program::Python)?;
        let conf = self.master.dir.join("master").display().to_string();
        let recipe = Recipe::new("python", path, &self.master.home)
            .args(&["-W", "ignore", "-c", script, &conf]);
        run(&recipe, TOOL_DEADLINE)
    }

    /// Pings exactly these minions with `'*'`, and each answers.
    pub fn check_ping(self, minions: &[&str]) -> Result<()> {
        let output = self.salt(&["*", "test.ping", "--out=json"])?.ok()?;
        let mut answered: Vec<String> = Vec::new();
        for (minion, value) in output.by_minion()? {
            ensure!(
                value == json!(true),
                "{minion} answered {value} in {output}"
            );
            answered.push(minion);
        }
        answered.sort();
        let mut wanted = minions.to_vec();
        wanted.sort_unstable();
        if answered != wanted {
            bail!("expected answers of {wanted:?} in {output}");
        }
        Ok(())
    }
}
