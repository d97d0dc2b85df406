//! Daemons: programs that run until they are told to end.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::family::{end_family, family};
use super::{Recipe, lossy};
use crate::wait::SHORT;
use crate::watchdog;

/// A process and the thread that waits for its end.
#[derive(Debug)]
pub(crate) struct Running {
    pid: i32,
    end: Receiver<ExitStatus>,
}

impl Running {
    pub(crate) fn start(recipe: &Recipe, stdout: File, stderr: File) -> Result<Self> {
        let mut command = recipe.command(stdout, stderr);
        if !recipe.stdin.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("could not start {}", recipe.program.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read to the end is no fault of ours.
            stdin.write_all(&recipe.stdin).ok();
        }
        let pid = i32::try_from(child.id()).context("a process id is no i32")?;
        watchdog::started(pid);
        let (sender, end) = channel();
        std::thread::spawn(move || {
            let status = child.wait();
            watchdog::ended(pid);
            if let Ok(status) = status {
                sender.send(status).ok();
            }
        });
        Ok(Self { pid, end })
    }

    /// Ends it with all its children.
    pub(crate) fn end(&self) {
        if self.wait(Duration::ZERO).is_none() {
            end_family(self.pid);
        }
    }

    pub(crate) fn wait(&self, deadline: Duration) -> Option<ExitStatus> {
        match self.end.recv_timeout(deadline) {
            Ok(status) => Some(status),
            Err(RecvTimeoutError::Timeout) => None,
            // The waiting thread could not wait: nothing is known, so nothing runs.
            Err(RecvTimeoutError::Disconnected) => Some(ExitStatus::from_raw(0)),
        }
    }
}

/// A long running program that can be killed and started again.
#[derive(Debug)]
pub struct Daemon {
    recipe: Recipe,
    log: PathBuf,
    running: Option<Running>,
    last_exit: Option<ExitStatus>,
}

impl Daemon {
    /// A daemon that is not started yet; what it writes to its standard
    /// streams goes to `log`.
    pub fn new(recipe: Recipe, log: PathBuf) -> Self {
        Self {
            recipe,
            log,
            running: None,
            last_exit: None,
        }
    }

    /// How it is started.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Starts the process; its readiness is another matter.
    pub fn start(&mut self) -> Result<()> {
        if self.is_running() {
            bail!("{} runs already", self.recipe.name);
        }
        let log = File::options().create(true).append(true).open(&self.log)?;
        self.running = Some(Running::start(&self.recipe, log.try_clone()?, log)?);
        self.last_exit = None;
        Ok(())
    }

    /// Starts another program from now on, with the same arguments.
    pub(crate) fn run_instead(&mut self, program: PathBuf) {
        self.recipe.program = program;
    }

    /// Whether the main process runs.
    pub fn is_running(&mut self) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        match running.wait(Duration::ZERO) {
            None => true,
            Some(status) => {
                self.last_exit = Some(status);
                self.running = None;
                false
            }
        }
    }

    /// An error if it does not run any more.
    pub fn check_runs(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let exit = match self.last_exit {
            Some(status) => status.to_string(),
            None => "it was never started".to_owned(),
        };
        bail!(
            "{} does not run ({exit}):\n{}",
            self.recipe.name,
            self.said()
        );
    }

    /// The id of the main process, which is that of its process group.
    pub fn pid(&self) -> Result<i32> {
        match &self.running {
            Some(running) => Ok(running.pid),
            None => bail!("{} does not run", self.recipe.name),
        }
    }

    /// The ids of all its processes.
    pub fn processes(&self) -> Result<Vec<i32>> {
        Ok(family(self.pid()?))
    }

    /// `kill -9` of every process of it at once.
    pub fn kill9(&mut self) -> Result<()> {
        let running = self
            .running
            .take()
            .with_context(|| format!("{} does not run", self.recipe.name))?;
        end_family(running.pid);
        self.last_exit = running.wait(SHORT);
        Ok(())
    }

    /// Asks it to stop, as a service manager does; gives its exit code.
    pub fn stop(&mut self, deadline: Duration) -> Result<i32> {
        let pid = self.pid()?;
        kill(Pid::from_raw(pid), Signal::SIGTERM).context("could not send SIGTERM")?;
        self.wait_exit(deadline)
    }

    /// Waits for it to end on its own; gives its exit code.
    pub fn wait_exit(&mut self, deadline: Duration) -> Result<i32> {
        if let Some(running) = &self.running {
            let Some(status) = running.wait(deadline) else {
                bail!(
                    "{} has not ended after {} s",
                    self.recipe.name,
                    deadline.as_secs()
                );
            };
            end_family(running.pid);
            self.last_exit = Some(status);
            self.running = None;
        }
        let status = self
            .last_exit
            .with_context(|| format!("{} was never started", self.recipe.name))?;
        Ok(status.code().unwrap_or(-1))
    }

    /// Sends a signal to the main process.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        kill(Pid::from_raw(self.pid()?), signal).with_context(|| format!("could not send {signal}"))
    }

    /// Leaves the process to the user: nothing of this program ends it.
    pub fn leave(&mut self) {
        if let Some(running) = self.running.take() {
            watchdog::ended(running.pid);
        }
    }

    /// What it has written to its standard streams.
    pub fn said(&self) -> String {
        lossy(&self.log)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            end_family(running.pid);
            running.wait(SHORT);
        }
    }
}
