//! Starting, watching and ending processes.
//!
//! Invariant: a signal only ever goes to processes that this module started,
//! or to their descendants: they lead a process group of their own, and carry
//! the fleet's directory in their environment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::output::Output;
use crate::wait::{SHORT, until};
use crate::watchdog;

/// The variable that marks everything that a fleet started.
const MARK: &str = "HALITE_FLEET";

/// What of our own environment programs get: no settings of the person who
/// runs the tests.
const ENV_KEPT: [&str; 4] = ["LD_LIBRARY_PATH", "USER", "LOGNAME", "HALITE_TEST_RUN"];

/// Where the programs of an administrator are, which a service finds and a
/// person without rights may not.
const SYSTEM_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// How to start a program.
#[derive(Clone, Debug)]
pub struct Recipe {
    name: String,
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    home: PathBuf,
    stdin: Vec<u8>,
}

impl Recipe {
    /// A program whose home, working directory and output files are in
    /// `home`, the fleet's directory.
    pub fn new(name: &str, program: PathBuf, home: &Path) -> Self {
        Self {
            name: name.to_owned(),
            program,
            args: Vec::new(),
            env: Vec::new(),
            home: home.to_path_buf(),
            stdin: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(mut self, args: &[S]) -> Self {
        self.args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What the program reads; nothing otherwise.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.as_bytes().to_vec();
        self
    }

    /// The command as one would type it.
    pub fn typed(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        let mut typed = name.to_string_lossy().into_owned();
        for arg in &self.args {
            typed.push(' ');
            typed.push_str(&quoted(arg));
        }
        typed
    }

    fn command(&self, stdout: File, stderr: File) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(
                ENV_KEPT
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("PATH", search_path())
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .env(MARK, &self.home)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0);
        command
    }
}

/// Our own search path, and where services look.
fn search_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&own).collect();
    for dir in SYSTEM_DIRS.map(PathBuf::from) {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    std::env::join_paths(dirs).unwrap_or(own)
}

fn quoted(arg: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_=./:,@+%".contains(char);
    if !arg.is_empty() && arg.chars().all(plain) {
        return arg.to_owned();
    }
    format!("'{}'", arg.replace('\'', r"'\''"))
}

/// Runs a program to its end; an error if that takes longer than `deadline`.
pub fn run(recipe: &Recipe, deadline: Duration) -> Result<Output> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Files rather than pipes: a grandchild that outlives the program and
    // holds its output open must not hold us.
    let out = recipe.home.join(format!("{number}.stdout"));
    let err = recipe.home.join(format!("{number}.stderr"));
    let running = Running::start(recipe, File::create(&out)?, File::create(&err)?)?;
    let status = running.wait(deadline);
    if status.is_none() {
        end_family(running.pid);
    }
    let output = Output {
        command: recipe.typed(),
        code: status.and_then(|status| status.code()).unwrap_or(-1),
        stdout: lossy(&out),
        stderr: lossy(&err),
    };
    if status.is_none() {
        bail!("no end within {} s of {output}", deadline.as_secs());
    }
    fs::remove_file(out).ok();
    fs::remove_file(err).ok();
    Ok(output)
}

fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

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

/// Ends all processes that carry `mark`; gives what they were.
pub fn end_marked(mark: &str) -> Vec<String> {
    let ended = marked(mark);
    for pid in &ended {
        kill(Pid::from_raw(*pid), Signal::SIGKILL).ok();
    }
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    ended
        .iter()
        .map(|pid| format!("{} ({pid})", name(pid).trim()))
        .collect()
}

/// Asks a process of a fleet to stop that has left its parent: one that went to
/// the background.
pub fn terminate(pid: i32) -> Result<()> {
    let marked = fs::read(format!("/proc/{pid}/environ"))?;
    let prefix = format!("{MARK}=");
    if !marked
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(prefix.as_bytes()))
    {
        bail!("process {pid} belongs to no fleet");
    }
    kill(Pid::from_raw(pid), Signal::SIGTERM).context("could not send SIGTERM")
}

/// Ends every process that belongs to the fleet at `home`, whatever became of
/// its parents.
pub(crate) fn end_fleet(home: &Path) {
    let mark = format!("{MARK}={}", home.display());
    let ended = until("the end of a fleet", SHORT, || {
        let left = marked(&mark);
        for pid in &left {
            kill(Pid::from_raw(*pid), Signal::SIGKILL).ok();
        }
        Ok(left.is_empty().then_some(()))
    });
    // At worst a process in an uninterruptible wait is left to the system.
    drop(ended);
}

/// Kills a process group and its descendants until nothing of it is left.
fn end_family(leader: i32) {
    let ended = until("the end of a process group", SHORT, || {
        let left = family(leader);
        if left.is_empty() {
            return Ok(Some(()));
        }
        killpg(Pid::from_raw(leader), Signal::SIGKILL).ok();
        for pid in left {
            kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
        }
        Ok(None)
    });
    // At worst a process in an uninterruptible wait is left to the system.
    drop(ended);
}

/// The processes of the group of `leader` and all their descendants.
pub fn family(leader: i32) -> Vec<i32> {
    let table = process_table();
    let mut family: BTreeSet<i32> = table
        .iter()
        .filter(|entry| entry.group == leader || entry.pid == leader)
        .map(|entry| entry.pid)
        .collect();
    loop {
        let more: Vec<i32> = table
            .iter()
            .filter(|entry| family.contains(&entry.parent) && !family.contains(&entry.pid))
            .map(|entry| entry.pid)
            .collect();
        if more.is_empty() {
            return family.into_iter().collect();
        }
        family.extend(more);
    }
}

/// The processes that were started with `mark`, a variable and its value, in
/// their environment, however far they have gone from their parents.
pub fn marked(mark: &str) -> Vec<i32> {
    let is_marked = |pid: &i32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
            environ
                .split(|byte| *byte == 0)
                .any(|entry| entry == mark.as_bytes())
        })
    };
    process_table()
        .into_iter()
        .map(|entry| entry.pid)
        .filter(is_marked)
        .collect()
}

struct Entry {
    pid: i32,
    parent: i32,
    group: i32,
}

/// All processes of the machine that have not ended.
fn process_table() -> Vec<Entry> {
    let Ok(dir) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    dir.filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command stands in brackets and may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        (state != "Z").then_some(Entry { pid, parent, group })
    })
    .collect()
}
