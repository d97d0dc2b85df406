//! One Python process: its start, its frames, its end.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use halite_process::{child, daemon};
use halite_proto::Value;
use nix::unistd::Pid;
use serde_json::{Value as Json, json};
use tracing::level_filters::LevelFilter;

use crate::PyHost;
use crate::error::{PyError, Raised};
use crate::executable::python;
use crate::frames::receive;
use crate::group::Group;
use crate::limits::{FRAME_BYTES_MAX, MEMORY_BYTES_MAX, START_SECONDS_MAX};
use crate::values::{decode, encode};

/// What Python gets as its command line: reads the program, whose length in
/// bytes is the first argument, from standard input. As an argument the program
/// itself would fill every list of processes.
const READ_PROGRAM: &str = "import os, sys
left, text = int(sys.argv.pop(1)), b''
while left > len(text):
    more = os.read(0, left - len(text))
    if not more: sys.exit(1)
    text += more
exec(compile(text, '<halite-pyworker>', 'exec'))
";

/// What the process runs, with the bytes of memory that it may have and the
/// level from which on it logs as arguments. The parts make one text.
pub const PROGRAM: &str = concat!(
    include_str!("worker/frames.py"),
    include_str!("worker/errors.py"),
    include_str!("worker/stand_ins.py"),
    include_str!("worker/salt_commands.py"),
    include_str!("worker/salt_utils.py"),
    include_str!("worker/salt_data.py"),
    include_str!("worker/salt_network.py"),
    include_str!("worker/names.py"),
    include_str!("worker/files.py"),
    include_str!("worker/salt.py"),
    include_str!("worker/pyobjects.py"),
    include_str!("worker/requests.py"),
);

/// The last argument of a process for [`Service::Endless`].
const ENDLESS: &str = "endless";

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// One call after the other, or one alone. What code has started may go on without it.
    Calls,
    /// One request whose code is not meant to end. What the code has started ends with
    /// the process, or every new start would leave more behind; what it prints is
    /// logged, so that it has the limits of the log. A thread waits for its end.
    Endless,
}

/// A running process.
pub(crate) struct Process {
    child: Child,
    /// The group that ends with it.
    group: Option<Group>,
    input: ChildStdin,
    output: Option<ChildStdout>,
    /// What was sent last, so that it is sent again only when it changed.
    sent: Vec<(&'static str, Value)>,
}

/// The names of the data that code sees.
const DATA: [&str; 3] = ["opts", "grains", "pillar"];
/// The kinds of files.
const KINDS: [&str; 19] = [
    "modules",
    "states",
    "grains",
    "utils",
    "runners",
    "beacons",
    "returners",
    "sdb",
    "pillar",
    "tops",
    "auth",
    "engines",
    "renderers",
    "output",
    "executors",
    "serializers",
    "matchers",
    "wheel",
    "queues",
];

/// Python with the worker's command line, isolated (`-I`): it takes modules
/// neither from the current directory, which others may be able to write, nor
/// from where its environment says. Whoever starts it writes [`PROGRAM`] to its
/// standard input first.
pub fn command(python: impl AsRef<OsStr>, memory_bytes_max: u64, log_level: u32) -> Command {
    let mut command = child::command(python);
    command
        .args(["-I", "-B", "-u", "-X", "utf8", "-c", READ_PROGRAM])
        .arg(PROGRAM.len().to_string())
        .arg(memory_bytes_max.to_string())
        .arg(log_level.to_string());
    command
}

impl Process {
    /// Starts a process for calls and waits until it is ready.
    pub(crate) fn start(host: &dyn PyHost) -> Result<Self, PyError> {
        let mut process = Self::spawn(host, Service::Calls)?;
        process.begin()?;
        Ok(process)
    }

    /// Starts a process, which is to [`begin`](Self::begin).
    pub(crate) fn spawn(host: &dyn PyHost, service: Service) -> Result<Self, PyError> {
        let opts = host.data("opts");
        let python = python(opts.get("python_executable").and_then(Value::as_str))?;
        let mut command = command(&python, MEMORY_BYTES_MAX, python_level());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        match service {
            Service::Calls => command.stderr(daemon::stderr_of_children()),
            Service::Endless => command.arg(ENDLESS).stderr(Stdio::null()),
        };
        let mut child = command.spawn().map_err(PyError::Start)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            let _ = child.kill();
            return Err(PyError::Start(io::ErrorKind::BrokenPipe.into()));
        };
        let leader = i32::try_from(child.id()).ok().map(Pid::from_raw);
        let leader = leader.filter(|_| service == Service::Endless);
        Ok(Self {
            child,
            group: leader.map(Group::of),
            input,
            output: Some(output),
            sent: Vec::new(),
        })
    }

    /// Gives the process its program, and waits until it is ready.
    pub(crate) fn begin(&mut self) -> Result<(), PyError> {
        self.input
            .write_all(PROGRAM.as_bytes())
            .map_err(PyError::Start)?;
        self.wait_ready()
    }

    fn wait_ready(&mut self) -> Result<(), PyError> {
        let mut output = self.output.take().ok_or_else(|| self.ended())?;
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let first = receive(&mut output);
            let _ = tell.send((first, output));
        });
        let Ok((first, output)) = told.recv_timeout(Duration::from_secs(START_SECONDS_MAX)) else {
            return Err(PyError::Ended("it did not become ready".to_owned()));
        };
        self.output = Some(output);
        match first {
            Ok(ready) if ready.get("ready").is_some() => {
                tracing::debug!(version = %ready["ready"], "python3 is ready");
                Ok(())
            }
            Ok(other) => Err(PyError::Nonsense(other.to_string())),
            Err(_) => Err(self.ended()),
        }
    }

    /// The process, unless it has ended.
    pub(crate) fn still_there(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    /// The process group, for signals.
    pub(crate) fn group(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or_default()
    }

    /// Kills the process, and before that the group that ends with it.
    fn kill(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        let _ = self.child.kill();
    }

    /// Why the process is no more.
    fn ended(&mut self) -> PyError {
        self.kill();
        let status = self.child.wait();
        PyError::Ended(status.map_or_else(|error| error.to_string(), |status| status.to_string()))
    }

    fn send(&mut self, message: &Json) -> Result<(), PyError> {
        let frame = message.to_string();
        let length = u32::try_from(frame.len())
            .ok()
            .filter(|_| frame.len() <= FRAME_BYTES_MAX)
            .ok_or_else(|| PyError::Nonsense("a message is too large".to_owned()))?;
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(frame.as_bytes());
        self.input.write_all(&bytes).map_err(|_| self.ended())
    }

    fn receive(&mut self) -> Result<Json, PyError> {
        let Some(output) = &mut self.output else {
            return Err(self.ended());
        };
        match receive(output) {
            Ok(message) => Ok(message),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let _ = self.child.kill();
                Err(PyError::Nonsense(error.to_string()))
            }
            Err(_) => Err(self.ended()),
        }
    }

    /// Sends what changed of what code sees.
    pub(crate) fn prepare(&mut self, host: &dyn PyHost) -> Result<(), PyError> {
        let mut changed = serde_json::Map::new();
        for name in DATA {
            let value = host.data(name);
            if !self.is_sent(name, &value) {
                changed.insert(name.to_owned(), encode(&value)?);
                self.remember(name, value);
            }
        }
        if !changed.is_empty() {
            self.ask(host, &json!({ "do": "data", "data": changed }))?;
        }
        let mut dirs = serde_json::Map::new();
        for kind in KINDS {
            let of_kind = host.directories(kind);
            let names: Vec<&str> = of_kind.iter().filter_map(|dir| dir.to_str()).collect();
            if !names.is_empty() {
                dirs.insert(kind.to_owned(), names.into());
            }
        }
        let dirs = Json::Object(dirs);
        let value = decode(dirs.clone());
        if !self.is_sent("dirs", &value) {
            self.ask(host, &json!({ "do": "dirs", "dirs": dirs }))?;
            self.remember("dirs", value);
        }
        Ok(())
    }

    fn is_sent(&self, name: &str, value: &Value) -> bool {
        self.sent
            .iter()
            .any(|(sent, old)| *sent == name && old == value)
    }

    fn remember(&mut self, name: &'static str, value: Value) {
        self.sent.retain(|(sent, _)| *sent != name);
        self.sent.push((name, value));
    }

    /// Sends a request and answers what is asked until its answer comes.
    pub(crate) fn ask(&mut self, host: &dyn PyHost, request: &Json) -> Result<Value, PyError> {
        self.send(request)?;
        loop {
            let mut message = self.receive()?;
            if let Some(error) = message.get("error") {
                return Err(raised(error).into());
            }
            if let Some(value) = message.get_mut("value") {
                return Ok(decode(value.take()));
            }
            host.pace();
            if let Some(level) = message.get("log") {
                log(host, level.as_u64().unwrap_or_default(), &message);
                continue;
            }
            if let Some(retcode) = message.get("retcode").and_then(Json::as_i64) {
                host.retcode(retcode);
                continue;
            }
            let reply = match answer(host, message) {
                Some(Ok(value)) => json!({ "value": encode(&value)? }),
                Some(Err(error)) => {
                    json!({ "error": { "class": error.class, "message": error.message } })
                }
                None => {
                    let _ = self.child.kill();
                    return Err(PyError::Nonsense("an unknown question".to_owned()));
                }
            };
            self.send(&reply)?;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Python's number for the level from which on anything is logged.
fn python_level() -> u32 {
    match LevelFilter::current() {
        LevelFilter::TRACE => 1,
        LevelFilter::DEBUG => 10,
        LevelFilter::INFO => 20,
        LevelFilter::WARN => 30,
        LevelFilter::ERROR => 40,
        LevelFilter::OFF => 100,
    }
}

/// What code has logged.
fn log(host: &dyn PyHost, level: u64, message: &Json) {
    let text = |name: &str| message.get(name).and_then(Json::as_str);
    let logger = text("name").unwrap_or_default();
    let text = text("text").unwrap_or_default();
    if !host.may_log(logger.len() + text.len()) {
        return;
    }
    match level {
        40.. => tracing::error!(target: "python", %logger, "{text}"),
        30.. => tracing::warn!(target: "python", %logger, "{text}"),
        20.. => tracing::info!(target: "python", %logger, "{text}"),
        10.. => tracing::debug!(target: "python", %logger, "{text}"),
        _ => tracing::trace!(target: "python", %logger, "{text}"),
    }
}

/// Answers a question of the process.
fn answer(host: &dyn PyHost, mut message: Json) -> Option<Result<Value, Raised>> {
    let mut take = |name: &str| message.get_mut(name).map(Json::take).map(decode);
    let args = match take("args") {
        Some(Value::List(args)) => args,
        _ => Vec::new(),
    };
    let kwargs = match take("kwargs") {
        Some(Value::Map(kwargs)) => kwargs,
        _ => halite_proto::Map::new(),
    };
    let text = |name: &str| message.get(name).and_then(Json::as_str);
    if let Some(fun) = text("salt") {
        return Some(host.call(fun, args, kwargs));
    }
    if let Some(fun) = text("state") {
        return Some(host.call_state(fun, args, kwargs));
    }
    if let Some(tag) = text("event") {
        return Some(host.event(tag, kwargs).map(|()| Value::Nil));
    }
    if let Some(fun) = text("has") {
        return Some(Ok(host.has_function(fun).into()));
    }
    if let Some(fun) = text("has_own") {
        return Some(Ok(host.has_own_function(fun).into()));
    }
    text("has_state").map(|fun| Ok(host.has_state(fun).into()))
}

fn raised(error: &Json) -> Raised {
    let text = |name: &str| {
        let text = error.get(name).and_then(Json::as_str);
        text.unwrap_or_default().to_owned()
    };
    let bases = error.get("bases").and_then(Json::as_array);
    Raised {
        class: text("class"),
        bases: bases
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
        message: text("message"),
        trace: text("trace"),
    }
}
