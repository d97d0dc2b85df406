//! Going into the background, and reporting the outcome to the waiting command.
//!
//! Invariant: the command that was typed returns when the daemon listens (exit
//! code 0) or has failed to (its message and exit code), never before.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, chdir, dup2_stderr, dup2_stdin, dup2_stdout, pipe2, setsid};
use thiserror::Error;

use crate::limits::START_REPORT_BYTES_MAX;
use crate::sys::{exit_now, fork_single_threaded};

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Forked {
    /// The process that was started; the daemon has said how it went. All that
    /// is left to do is to print the message and exit.
    Parent(StartReport),
    /// The daemon: a session of its own, in `/`, without a terminal.
    Daemon(Readiness),
}

/// How the daemon's start went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartReport {
    /// It listens.
    Ready,
    /// It could not start.
    Failed {
        /// The exit code to end with.
        exit_code: u8,
        /// What to tell the user.
        message: String,
    },
}

/// Why there is no daemon.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The system did not give what is needed.
    #[error("could not go into the background")]
    Fork(#[source] io::Error),
}

/// Whether this process has gone into the background.
static IN_BACKGROUND: AtomicBool = AtomicBool::new(false);

/// Where a program that outlives one question may complain: to this process's
/// standard error, but in the background nowhere. Until the daemon is ready its
/// own is still that of the command that was typed, and a program that held it
/// would hold up whoever reads that command's output to its end.
pub fn stderr_of_children() -> Stdio {
    match IN_BACKGROUND.load(Ordering::Relaxed) {
        true => Stdio::null(),
        false => Stdio::inherit(),
    }
}

/// Goes into the background. To be called before any thread is started and
/// after everything with a relative path has been read: the daemon's directory
/// is `/`. Its output still goes to the terminal until it is ready, so that
/// nothing it says while it starts is lost.
///
/// # Errors
/// When there are threads already, or the system refuses.
pub fn daemonize() -> Result<Forked, DaemonError> {
    let (reader, writer) =
        pipe2(OFlag::O_CLOEXEC).map_err(|error| DaemonError::Fork(error.into()))?;
    match fork_single_threaded().map_err(DaemonError::Fork)? {
        ForkResult::Parent { child } => {
            drop(writer);
            // The child ends at once, after its own fork.
            let _ = nix::sys::wait::waitpid(child, None);
            Ok(Forked::Parent(await_report(File::from(reader))))
        }
        ForkResult::Child => {
            drop(reader);
            IN_BACKGROUND.store(true, Ordering::Relaxed);
            let readiness = Readiness {
                pipe: Some(File::from(writer)),
            };
            match detach() {
                Ok(()) => Ok(Forked::Daemon(readiness)),
                Err(error) => {
                    readiness.failed(1, &format!("could not go into the background: {error}"));
                    exit_now(1);
                }
            }
        }
    }
}

/// Leaves the session of the terminal for good: the second fork makes sure
/// that the daemon, not being a session leader, can get no terminal again.
fn detach() -> io::Result<()> {
    setsid()?;
    if let ForkResult::Parent { .. } = fork_single_threaded()? {
        exit_now(0);
    }
    chdir("/")?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

fn await_report(pipe: File) -> StartReport {
    let mut report = Vec::new();
    let died = |message: &str| StartReport::Failed {
        exit_code: 1,
        message: message.to_owned(),
    };
    if let Err(error) = pipe.take(START_REPORT_BYTES_MAX).read_to_end(&mut report) {
        return died(&format!("could not hear from the daemon: {error}"));
    }
    match report.split_first() {
        Some((0, _)) => StartReport::Ready,
        Some((exit_code, message)) => StartReport::Failed {
            exit_code: *exit_code,
            message: String::from_utf8_lossy(message).into_owned(),
        },
        None => died("the daemon ended before it was ready"),
    }
}

/// The daemon's end of the pipe to the waiting parent.
#[derive(Debug)]
pub struct Readiness {
    pipe: Option<File>,
}

impl Readiness {
    /// The readiness of a process in the foreground, where nobody waits.
    pub fn foreground() -> Self {
        Self { pipe: None }
    }

    /// The daemon listens: lets the parent exit with 0 and turns standard
    /// output and error away from the terminal.
    pub fn ready(mut self) {
        let Some(mut pipe) = self.pipe.take() else {
            return;
        };
        let _ = pipe.write_all(&[0]);
        if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
            let _ = dup2_stdout(null.as_fd());
            let _ = dup2_stderr(null.as_fd());
        }
    }

    /// The daemon could not start: the parent prints `message` and exits with
    /// `exit_code` (1 if that is 0). In the foreground, nothing happens.
    /// Returns whether anybody heard it.
    pub fn failed(mut self, exit_code: u8, message: &str) -> bool {
        let Some(mut pipe) = self.pipe.take() else {
            return false;
        };
        let mut report = vec![exit_code.max(1)];
        report.extend_from_slice(message.as_bytes());
        pipe.write_all(&report).is_ok()
    }
}
