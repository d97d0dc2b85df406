//! Runs commands: as another user, in a process group of their own, with a time
//! limit.
//!
//! Invariant: a command that is no longer waited for is killed with all of its
//! children that stayed in its process group. A program inherits nothing but its
//! three standard streams, and one that runs as another user has no terminal,
//! because it could type commands into root's.

mod output;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Pid};

use self::output::{collect, wait_closed};
use crate::limits::TERM_GRACE_MS;
use crate::privileges::User;
use crate::sys::{Become, before_exec, close_descriptors_on_exec};

/// Whose rights a command runs with.
#[derive(Debug, Clone, Default)]
pub struct RunAs {
    /// The user, with all of the user's groups; `None`: whoever this process
    /// is.
    pub user: Option<User>,
    /// The primary group, if not that of the user.
    pub group: Option<Gid>,
    /// The mask of new files' modes.
    pub umask: Option<u32>,
}

/// A command whose program inherits no descriptor but the standard three. Each
/// program that this project starts begins here.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    close_descriptors_on_exec();
    Command::new(program)
}

/// Prepares `command` so that it runs as `run_as` says, as the leader of a
/// process group.
fn prepare(command: &mut Command, options: &RunOptions) {
    let run_as = &options.run_as;
    let identity = match (&run_as.user, run_as.group) {
        (Some(user), group) => Some((user.groups.clone(), group.unwrap_or(user.gid), user.uid)),
        // Only the group changes: what else the process is in stays.
        (None, Some(group)) => {
            let groups = nix::unistd::getgroups().unwrap_or_default();
            Some((groups, group, nix::unistd::geteuid()))
        }
        (None, None) => None,
    };
    let umask = run_as.umask.map(Mode::from_bits_truncate);
    let session = options.own_session || run_as.user.is_some();
    let ends_with = options.ends_with_us.then(Pid::this);
    if session || identity.is_some() || umask.is_some() || ends_with.is_some() {
        let who = Become {
            session,
            identity,
            umask,
            ends_with,
        };
        before_exec(command, who);
    }
    // Without a change the command is started the faster way. The leader of a
    // session leads a group too, and a leader of a group cannot begin a session.
    if !session {
        command.process_group(0);
    }
}

/// How a command is run.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// Whose rights it has.
    pub run_as: RunAs,
    /// It runs in a session of its own, without a terminal, whoever runs it:
    /// for programs that become another user by themselves.
    pub own_session: bool,
    /// It is killed when this process is, or the thread that runs it: nothing is to go on
    /// that the next process cannot find yet. Its own children are not.
    pub ends_with_us: bool,
    /// What it reads; nothing means `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// Its standard error goes where its standard output goes.
    pub merge_stderr: bool,
    /// How long is waited for its end.
    pub timeout: Option<Duration>,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its process id.
    pub pid: u32,
    /// Its exit code, or the number of the signal that ended it, negative.
    pub code: i32,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// What it complained; empty if merged.
    pub stderr: Vec<u8>,
    /// It was killed since it took too long.
    pub timed_out: bool,
    /// It wrote more than is kept.
    pub cut: bool,
}

/// Runs `command` to its end in a process group of its own. `started` gets the
/// group's id; what it returns is kept until the command has ended.
///
/// # Errors
/// When the command cannot be started.
pub fn run<Guard>(
    mut command: Command,
    options: RunOptions,
    started: impl FnOnce(i32) -> Guard,
) -> io::Result<Finished> {
    let (out_reader, out_writer) = io::pipe()?;
    let mut streams = vec![out_reader];
    if options.merge_stderr {
        command.stderr(out_writer.try_clone()?);
    } else {
        let (err_reader, err_writer) = io::pipe()?;
        streams.push(err_reader);
        command.stderr(err_writer);
    }
    command.stdout(out_writer);
    command.stdin(match options.stdin {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    });
    prepare(&mut command, &options);
    let mut child = command.spawn()?;
    // It holds the writing ends of the pipes: reading would never end.
    drop(command);

    let group = i32::try_from(child.id()).map_err(io::Error::other)?;
    let _guard = started(group);
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), options.stdin) {
        // A command that does not read must not stop its own output.
        thread::spawn(move || {
            let _ = pipe.write_all(&input);
        });
    }
    let deadline = options
        .timeout
        .and_then(|timeout| Instant::now().checked_add(timeout));
    let (output, ended) = collect(streams);
    let mut timed_out = !wait_closed(&ended, output.len(), deadline);
    let mut status = if timed_out {
        None
    } else {
        wait(&mut child, deadline)?
    };
    if status.is_none() {
        timed_out = true;
        status = kill(&mut child, group)?;
        wait_closed(&ended, output.len(), Instant::now().checked_add(grace()));
    }
    let mut cut = false;
    let mut texts = output.iter().map(|kept| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        cut |= kept.cut;
        std::mem::take(&mut kept.bytes)
    });
    let stdout = texts.next().unwrap_or_default();
    let stderr = texts.next().unwrap_or_default();
    drop(texts);
    Ok(Finished {
        pid: child.id(),
        code: status.map_or(-9, exit_code),
        stdout,
        stderr,
        timed_out,
        cut,
    })
}

/// Starts `command` in a process group of its own and does not wait for it;
/// `keep` is dropped when it has ended.
///
/// # Errors
/// When the command cannot be started.
pub fn spawn_detached<Keep: Send + 'static>(
    mut command: Command,
    run_as: &RunAs,
    keep: Keep,
) -> io::Result<u32> {
    let options = RunOptions {
        run_as: run_as.clone(),
        ..RunOptions::default()
    };
    prepare(&mut command, &options);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = child.id();
    // Somebody has to take note of its end, or it stays as a zombie.
    thread::spawn(move || {
        let _ = child.wait();
        drop(keep);
    });
    Ok(pid)
}

/// An exit code as Python has it: that of the program, or the number of the
/// signal that ended it, negative.
pub fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| status.signal().map_or(-1, |signal| -signal))
}

/// Waits for the end of the child; nothing when time ran out.
fn wait(child: &mut Child, deadline: Option<Instant>) -> io::Result<Option<ExitStatus>> {
    let Some(deadline) = deadline else {
        return child.wait().map(Some);
    };
    // Nearly always the child has ended when its output has; what closes its
    // output and goes on is looked after less and less often.
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Ends the group: politely first, then not.
fn kill(child: &mut Child, group: i32) -> io::Result<Option<ExitStatus>> {
    let group = Pid::from_raw(group);
    let _ = killpg(group, Signal::SIGTERM);
    let status = wait(child, Instant::now().checked_add(grace()))?;
    let _ = killpg(group, Signal::SIGKILL);
    match status {
        Some(status) => Ok(Some(status)),
        None => wait(child, Instant::now().checked_add(grace())),
    }
}

fn grace() -> Duration {
    Duration::from_millis(TERM_GRACE_MS)
}

#[cfg(test)]
mod tests;
