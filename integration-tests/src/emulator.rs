//! A herd of emulated minions (`salt-emulate`), and its reports.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::kind::{Kind, Program};
use crate::master::Master;
use crate::net::Address;
use crate::process::{Daemon, Recipe};
use crate::wait::{SHORT, until};

/// A process with many minions of one master.
#[derive(Debug)]
pub struct Emulator {
    daemon: Daemon,
}

impl Emulator {
    /// Starts the minions `first` to `first + count` with these arguments besides.
    ///
    /// # Errors
    /// When the program is missing or does not start.
    pub fn start(
        fleet: &Fleet,
        master: &Master,
        numbers: (u32, u32),
        args: &[&str],
    ) -> Result<Self> {
        Self::start_at(fleet, &[master.address()], numbers, args)
    }

    /// The same, with all of these masters in the list of each minion.
    ///
    /// # Errors
    /// As [`Emulator::start`].
    pub fn start_at(
        fleet: &Fleet,
        masters: &[&Address],
        (first, count): (u32, u32),
        args: &[&str],
    ) -> Result<Self> {
        let path = fleet.programs().path(Kind::Ours, Program::Emulate)?;
        let dir = fleet.path().join("herd").display().to_string();
        let masters = masters
            .iter()
            .flat_map(|master| ["--master".to_owned(), master.request().to_string()]);
        let masters: Vec<String> = masters.collect();
        let numbers = [first.to_string(), count.to_string()];
        let fixed = [
            "--dir",
            &dir,
            "--first",
            &numbers[0],
            "--count",
            &numbers[1],
            "--out",
            "json",
        ];
        let recipe = Recipe::new("salt-emulate", path, fleet.path())
            .args(&masters)
            .args(&fixed)
            .args(args);
        let log = fleet.path().join(format!("emulator-{first}"));
        let mut daemon = Daemon::new(recipe, log);
        daemon.start()?;
        Ok(Self { daemon })
    }

    /// What it has said last; nothing before its first second.
    pub fn state(&self) -> Option<Value> {
        let said = self.daemon.said();
        let last = said.lines().rfind(|line| line.ends_with('}'))?;
        serde_json::from_str(last).ok()
    }

    /// Waits until what it says fulfils a condition, and returns that.
    ///
    /// # Errors
    /// When that takes longer than `deadline`.
    pub fn wait(
        &self,
        what: &str,
        deadline: Duration,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let waited = until(what, deadline, || {
            Ok(self.state().filter(|state| is_so(state)))
        });
        waited.with_context(|| format!("the herd: {:?}", self.state()))
    }

    /// Waits until so many links are ready.
    ///
    /// # Errors
    /// When that takes longer than `deadline`.
    pub fn wait_ready(&self, count: u32, deadline: Duration) -> Result<Value> {
        self.wait("all minions are ready", deadline, |state| {
            state["ready"].as_u64() == Some(u64::from(count))
        })
    }

    /// An error with what it has said, if it has ended by itself.
    pub fn check_runs(&mut self) -> Result<()> {
        self.daemon.check_runs()
    }

    /// Its process.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pid(&self) -> Result<i32> {
        self.daemon.pid()
    }

    /// Ends all its minions.
    ///
    /// # Errors
    /// When it does not end, or ends with an error.
    pub fn stop(mut self) -> Result<()> {
        let code = self.daemon.stop(SHORT)?;
        anyhow::ensure!(
            code == 0,
            "salt-emulate ended with {code}:\n{}",
            self.daemon.said()
        );
        Ok(())
    }
}
