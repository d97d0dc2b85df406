//! A server's process: started, ready, paused, killed, started again.

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::install::find_program;
use crate::place;

/// How long a server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a server may take to end after it was asked to.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

/// Between two looks whether a process has ended, or a port is served.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How a server says that it is ready.
#[derive(Clone, Copy, Debug)]
pub enum Ready {
    /// It writes a line with this text.
    Says(&'static str),
    /// It serves this address.
    Listens(SocketAddr),
}

/// What asks a server to end in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// `SIGTERM`.
    Term,
    /// `SIGINT`.
    Int,
    /// `SIGQUIT`.
    Quit,
}

impl StopSignal {
    fn number(self) -> Signal {
        match self {
            Self::Term => Signal::SIGTERM,
            Self::Int => Signal::SIGINT,
            Self::Quit => Signal::SIGQUIT,
        }
    }
}

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program's name; [`find_program`] says where it is.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
    /// How it says that it is ready.
    pub ready: Ready,
    /// What asks it to end in order. A server that leaves something behind when
    /// it is killed gets this one also when its parent dies.
    pub stop: StopSignal,
    /// Whether it must be root to do what the test wants.
    pub as_root: bool,
}

/// A server and its directory. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    launch: Launch,
    // Locked because a server that tests share is stopped and started too.
    child: Mutex<Option<Child>>,
    dir: TempDir,
    log: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// Makes a server in a new directory; [`Server::start`] starts it. Files
    /// that it needs are made in [`Server::dir`] before.
    ///
    /// # Errors
    /// When there is no room for the directory.
    pub fn new(name: &str, launch: impl FnOnce(&Path) -> Result<Launch>) -> Result<Self> {
        Self::new_in(&std::env::temp_dir(), name, launch)
    }

    /// The same with the new directory below this one.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn new_in(
        base: &Path,
        name: &str,
        launch: impl FnOnce(&Path) -> Result<Launch>,
    ) -> Result<Self> {
        let dir = place::directory(name, base)?;
        Ok(Self {
            launch: launch(dir.path())?,
            child: Mutex::new(None),
            dir,
            log: Arc::default(),
        })
    }

    /// Starts the server, again on the same data if it ran before, and waits
    /// until it is ready. Does nothing to one that runs.
    ///
    /// # Errors
    /// When it cannot be started, or is not ready in time; what it has said is
    /// in the error.
    pub fn start(&self) -> Result<()> {
        let mut slot = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_some() {
            return Ok(());
        }
        let launch = &self.launch;
        let mut command = command(launch.program, launch.stop, launch.as_root, self.dir())?;
        command.args(&self.launch.args).stdin(Stdio::null());
        let mut child = crate::spawner::spawn(command)
            .with_context(|| format!("could not start {}", self.launch.program))?;
        let lines = self.read_output(&mut child);
        let ready = wait_until_ready(&mut child, self.launch.ready, &lines);
        *slot = Some(child);
        drop(slot);
        if let Err(error) = ready {
            self.kill();
            bail!("{}: {error}\n{}", self.launch.program, self.log());
        }
        Ok(())
    }

    /// Ends the server in order, and waits for its end.
    pub fn stop(&self) {
        self.end(self.launch.stop.number());
    }

    /// Kills the server with the processes that it has started, which serve those who
    /// are connected for a moment longer, and waits for their end.
    pub fn kill(&self) {
        let children = self.pid().map(stopped_children).unwrap_or_default();
        self.end(Signal::SIGKILL);
        for child in &children {
            if let Ok(pid) = i32::try_from(*child) {
                // It may have ended with its parent.
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        let deadline = Instant::now() + STOPPED_WITHIN;
        while children.iter().any(|child| process_state(*child).is_some()) {
            if Instant::now() > deadline {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Stops the server where it is (`SIGSTOP`): connections stay and nothing
    /// is answered. Processes that it has started go on.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets a paused server go on.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// The directory of the server, with its data.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The id of its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.as_ref().map(Child::id)
    }

    /// What it has said so far, on both outputs.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Keeps the directory and what is in it.
    pub fn keep_dir(&mut self) {
        self.dir.disable_cleanup(true);
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid().and_then(|pid| i32::try_from(pid).ok()) {
            // It may have ended by itself.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    fn end(&self, signal: Signal) {
        self.signal(signal);
        self.signal(Signal::SIGCONT);
        let mut slot = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut child) = slot.take() else {
            return;
        };
        let deadline = Instant::now() + STOPPED_WITHIN;
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Reads both outputs to their end, into the log and line by line.
    fn read_output(&self, child: &mut Child) -> Receiver<String> {
        let (sender, lines) = channel();
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|out| Box::new(out) as _),
            child.stderr.take().map(|out| Box::new(out) as _),
        ];
        for output in outputs.into_iter().flatten() {
            let (sender, log) = (sender.clone(), Arc::clone(&self.log));
            thread::spawn(move || keep_lines(output, &log, &sender));
        }
        lines
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In order, as a killed one may leave shared memory behind.
        self.stop();
    }
}

/// Stops a process, so that it starts no more, and gives those that it has started.
fn stopped_children(pid: u32) -> Vec<u32> {
    let Ok(number) = i32::try_from(pid) else {
        return Vec::new();
    };
    let _ = kill(Pid::from_raw(number), Signal::SIGSTOP);
    let deadline = Instant::now() + STOPPED_WITHIN;
    while process_state(pid).is_some_and(|state| state != 'T') && Instant::now() < deadline {
        thread::sleep(LOOK_EVERY);
    }
    // Threads of it start processes too.
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| {
        let list = std::fs::read_to_string(task.path().join("children"));
        list.ok()
    });
    lists
        .flat_map(|list| {
            let pids = list.split_whitespace().map(str::parse);
            pids.filter_map(Result::ok).collect::<Vec<u32>>()
        })
        .collect()
}

/// The letter by which the kernel calls the state of a process; `None` if it has ended.
fn process_state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have any characters.
    let (_, rest) = stat.rsplit_once(')')?;
    let state = rest.trim_start().chars().next()?;
    (!matches!(state, 'Z' | 'X')).then_some(state)
}

/// The command of a server or its tools: as an unprivileged user, with a signal
/// for the end of its parent.
fn command(name: &str, stop: StopSignal, as_root: bool, dir: &Path) -> Result<Command> {
    let mut command = Command::new(program("setpriv")?);
    // One that ends may end all of its group: Apache does, and the servers of other
    // tests run as the same user.
    command.process_group(0);
    let end = match stop {
        StopSignal::Quit => "SIGQUIT",
        StopSignal::Int | StopSignal::Term => "SIGKILL",
    };
    command.args(["--pdeathsig", end]);
    if !as_root && let Some(user) = place::unprivileged()? {
        command
            .arg(format!("--reuid={}", user.uid))
            .arg(format!("--regid={}", user.gid))
            .arg("--clear-groups");
    }
    command
        .arg("--")
        .arg(program(name)?)
        .current_dir(dir)
        .env_remove("LC_ALL")
        .env("LANG", "C.UTF-8")
        .env("HOME", dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// Runs a program of a server to its end, as the user whom servers run as, and
/// gives what it has said.
pub(crate) fn run(name: &str, args: &[&str], dir: &Path, input: &str) -> Result<String> {
    let mut command = command(name, StopSignal::Term, false, dir)?;
    command.args(args).stdin(Stdio::piped());
    let mut child = crate::spawner::spawn(command)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that has not read it all says why below.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{name} {}: {}", args.join(" "), stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn program(name: &str) -> Result<PathBuf> {
    find_program(name).with_context(|| format!("{name} is not installed"))
}

fn keep_lines(output: impl Read, log: &Mutex<Vec<u8>>, lines: &Sender<String>) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while reader
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend(&line);
        drop(log);
        // Nobody listens once the server is ready.
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
        line.clear();
    }
}

fn wait_until_ready(child: &mut Child, ready: Ready, lines: &Receiver<String>) -> Result<()> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        match ready {
            Ready::Says(text) => match lines.recv_timeout(LOOK_EVERY) {
                Ok(line) if line.contains(text) => return Ok(()),
                Ok(_) => continue,
                Err(RecvTimeoutError::Timeout) => {}
                // It has closed its outputs, and will be gone in a moment.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_EVERY),
            },
            Ready::Listens(address) => {
                if TcpStream::connect(address).is_ok() {
                    return Ok(());
                }
                thread::sleep(LOOK_EVERY);
            }
        }
        if let Some(status) = child.try_wait()? {
            bail!("ended with {status} before it was ready");
        }
        if Instant::now() > deadline {
            bail!("not ready after {} s", READY_WITHIN.as_secs());
        }
    }
}

/// Writes a file that a server reads, and that nobody else may.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<()> {
    let mut file =
        File::create(path).with_context(|| format!("could not write {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    place::give_away(path)
}
