//! Grains that only programs can tell. They take longer than all files, so they run
//! in parallel with other work, and may be started before the first grain is needed.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use halite_process::child;

use crate::files::Root;

/// How long a program may take to say what is asked of it, from when nothing
/// else is left to do.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(2);

/// Between two looks for the end of a program that has nothing more to say.
const END_PAUSE: Duration = Duration::from_micros(100);

/// Most that is read of what a program says.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// Those that were started ahead.
static AHEAD: Mutex<Option<Programs>> = Mutex::new(None);

/// Starts the programs for the next collection of grains.
pub(crate) fn start_ahead() {
    let programs = Programs::start(&Root::new(std::path::Path::new("/")));
    *AHEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(programs);
}

/// The programs that are asked, and run already.
#[derive(Debug)]
pub(crate) struct Programs {
    systemctl: Option<Program>,
    detect_virt: Option<Program>,
    python: Option<Program>,
}

/// What the programs say; nothing of one that failed.
#[derive(Debug)]
pub(crate) struct Said {
    /// `systemctl --version`.
    pub(crate) systemctl: Option<String>,
    /// `systemd-detect-virt`.
    pub(crate) detect_virt: Option<String>,
    /// `python3 -V`.
    pub(crate) python: Option<String>,
}

impl Programs {
    /// Those that were started ahead, else new ones; none in a fixture.
    pub(crate) fn started(root: &Root) -> Self {
        let ahead = || AHEAD.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ahead = root.is_real().then(ahead).flatten();
        ahead.unwrap_or_else(|| Self::start(root))
    }

    fn start(root: &Root) -> Self {
        let start_at = |path: Option<PathBuf>, args| {
            let path = path.filter(|_| root.is_real())?;
            Some(Program::start(path, args))
        };
        let start = |name: &str, args| start_at(root.which(name), args);
        let has_systemd = root.which("localectl").is_some();
        Self {
            // The slower one first.
            detect_virt: start("systemd-detect-virt", &[]),
            systemctl: has_systemd
                .then(|| start("systemctl", &["--version"]))
                .flatten(),
            python: start_at(root.python(), &["-V"]),
        }
    }

    /// Waits for what they say.
    pub(crate) fn finish(self) -> Said {
        Said {
            systemctl: self.systemctl.and_then(Program::finish),
            detect_virt: self.detect_virt.and_then(Program::finish),
            python: self.python.and_then(Program::finish),
        }
    }
}

/// A program, and the thread that has started it and waits for it: to start one
/// takes longer than to read a dozen files.
#[derive(Debug)]
struct Program {
    child: Running,
    said: Receiver<Option<String>>,
}

/// The program while it runs.
type Running = Arc<Mutex<Option<Child>>>;

impl Program {
    fn start(path: PathBuf, args: &'static [&'static str]) -> Self {
        let child = Running::default();
        let (sender, said) = channel();
        let (running, program, answer) = (Arc::clone(&child), path.clone(), sender.clone());
        let thread = thread::Builder::new().name("grains".to_owned());
        let started = thread.spawn(move || {
            // Who has waited too long is gone.
            let _ = answer.send(ask(program, args, &running));
        });
        if started.is_err() {
            let _ = sender.send(ask(path, args, &child));
        }
        Self { child, said }
    }

    fn finish(self) -> Option<String> {
        if let Ok(said) = self.said.recv_timeout(PROGRAM_TIMEOUT) {
            return said;
        }
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Its thread sees the end.
        child.as_mut()?.kill().ok()?;
        None
    }
}

/// Runs a program; nothing if it fails.
fn ask(path: PathBuf, args: &[&str], running: &Running) -> Option<String> {
    let mut child = child::command(path)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    let mut text = String::new();
    let read = stdout.take(OUTPUT_BYTES_MAX).read_to_string(&mut text);
    let status = loop {
        let mut child = running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(status) = child.as_mut()?.try_wait().ok()? {
            *child = None;
            break status;
        }
        drop(child);
        thread::sleep(END_PAUSE);
    };
    (read.is_ok() && status.success()).then(|| text.trim_end().to_owned())
}
