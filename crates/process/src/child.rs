//! Running commands: as another user, in a process group of their own, with an
//! end to the waiting.
//!
//! Invariant: a command that is not waited for any longer is killed with all
//! of its children that stayed in its process group. A program inherits
//! nothing but its three standard streams, and one that runs as another user
//! has no terminal: on root's, it could type commands.

use std::ffi::OsStr;
use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Pid};

use crate::limits::{OUTPUT_BYTES_MAX, TERM_GRACE_MS};
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
fn prepare(command: &mut Command, run_as: &RunAs, own_session: bool) {
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
    let session = own_session || run_as.user.is_some();
    if session || identity.is_some() || umask.is_some() {
        let who = Become {
            session,
            identity,
            umask,
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
    prepare(&mut command, &options.run_as, options.own_session);
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
    prepare(&mut command, run_as, false);
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

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    cut: bool,
}

fn collect(streams: Vec<PipeReader>) -> (Vec<Arc<Mutex<Kept>>>, Receiver<()>) {
    let (send, ended) = mpsc::channel();
    let kept = streams
        .into_iter()
        .map(|stream| {
            let kept = Arc::new(Mutex::new(Kept::default()));
            let (into, send) = (Arc::clone(&kept), send.clone());
            thread::spawn(move || read_all(stream, &into, &send));
            kept
        })
        .collect();
    (kept, ended)
}

fn read_all(mut stream: PipeReader, into: &Mutex<Kept>, ended: &Sender<()>) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = OUTPUT_BYTES_MAX.saturating_sub(kept.bytes.len());
                kept.bytes.extend_from_slice(&buffer[..count.min(room)]);
                kept.cut |= count > room;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = ended.send(());
}

/// Waits until `count` streams are closed; `false` when time ran out.
fn wait_closed(ended: &Receiver<()>, count: usize, deadline: Option<Instant>) -> bool {
    (0..count).all(|_| match deadline {
        None => ended.recv().is_ok(),
        Some(deadline) => ended
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .is_ok(),
    })
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
mod tests {
    use std::fs::File;

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = command("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn both_streams_and_the_code_come_back() {
        let done = run(
            sh("echo out; echo err >&2; exit 3"),
            RunOptions::default(),
            |_| (),
        )
        .unwrap();
        assert_eq!((done.code, done.timed_out, done.cut), (3, false, false));
        assert_eq!(
            (&*done.stdout, &*done.stderr),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn merged_output_keeps_its_order() {
        let options = RunOptions {
            merge_stderr: true,
            ..RunOptions::default()
        };
        let done = run(sh("echo 1; echo 2 >&2; echo 3"), options, |_| ()).unwrap();
        assert_eq!(done.stdout, b"1\n2\n3\n");
    }

    #[test]
    fn a_large_input_and_output_do_not_block_each_other() {
        let input = vec![b'x'; 1 << 20];
        let options = RunOptions {
            stdin: Some(input.clone()),
            ..RunOptions::default()
        };
        let done = run(sh("cat"), options, |_| ()).unwrap();
        assert_eq!(done.stdout, input);
    }

    #[test]
    fn a_signal_is_a_negative_code() {
        let done = run(sh("kill -9 $$"), RunOptions::default(), |_| ()).unwrap();
        assert_eq!(done.code, -9);
    }

    #[test]
    fn time_runs_out_for_the_whole_group() {
        let options = RunOptions {
            // Enough for the shell to say whom it has started.
            timeout: Some(Duration::from_secs(2)),
            ..RunOptions::default()
        };
        let script = "sleep 600 & echo $!; sleep 600";
        let done = run(sh(script), options, |_| ()).unwrap();
        assert!(done.timed_out);
        let grandchild = String::from_utf8(done.stdout).unwrap();
        assert!(!grandchild.is_empty(), "the shell did not begin");
        let stat = format!("/proc/{}/stat", grandchild.trim());
        // It may be a zombie until whoever inherited it takes note.
        let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let until = Instant::now() + Duration::from_secs(60);
        while alive() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(!alive(), "a child lives on");
    }

    #[test]
    fn a_command_that_closes_its_output_is_still_waited_for() {
        let script = "exec >&- 2>&-; sleep 0.05; exit 4";
        for timeout in [None, Some(Duration::from_secs(60))] {
            let options = RunOptions {
                timeout,
                ..RunOptions::default()
            };
            assert_eq!(run(sh(script), options, |_| ()).unwrap().code, 4);
        }
    }

    #[test]
    fn what_is_kept_for_a_command_goes_when_it_has_ended() {
        let (keep, kept) = mpsc::channel::<()>();
        assert!(spawn_detached(sh("exit 0"), &RunAs::default(), keep).unwrap() > 0);
        // The other end hangs up when the guard is dropped.
        assert!(kept.recv_timeout(Duration::from_secs(60)).is_err());
    }

    #[test]
    fn another_user_has_all_of_that_users_groups_and_no_others() {
        if !halite_test_support::have_root() {
            return;
        }
        let user = User::lookup("nobody").unwrap();
        let options = RunOptions {
            run_as: RunAs {
                user: Some(user.clone()),
                group: None,
                umask: Some(0o027),
            },
            ..RunOptions::default()
        };
        let done = run(sh("id -u; id -G; umask"), options, |_| ()).unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let groups: Vec<_> = user.groups.iter().map(ToString::to_string).collect();
        assert_eq!(text, format!("{}\n{}\n0027\n", user.uid, groups.join(" ")));
    }

    /// A descriptor that nobody has told the system to close, as C libraries
    /// open them.
    fn open_for_children() -> File {
        let file = File::open("/dev/null").unwrap();
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        file
    }

    const DESCRIPTORS: &str = "cd /proc/self/fd && echo *";

    #[test]
    fn a_program_inherits_its_three_streams_only() {
        let held = open_for_children();
        // The shell has the directory open while it lists it.
        let done = run(sh(DESCRIPTORS), RunOptions::default(), |_| ()).unwrap();
        assert_eq!(done.stdout, b"0 1 2 3\n");
        drop(held);
        let held = open_for_children();
        crate::sys::close_listed_on_exec();
        let fallen_back = Command::new("/bin/sh")
            .args(["-c", DESCRIPTORS])
            .output()
            .unwrap();
        assert_eq!(fallen_back.stdout, b"0 1 2 3\n");
        drop(held);
    }

    /// The session of a process is the sixth field of its `stat`.
    #[test]
    fn another_users_program_has_no_terminal() {
        let session = "read -r _ _ _ _ group session _ < /proc/$$/stat; echo $$ $group $session";
        let ids = |run_as: RunAs, own_session| {
            let options = RunOptions {
                run_as,
                own_session,
                ..RunOptions::default()
            };
            let done = run(sh(session), options, |_| ()).unwrap();
            let text = String::from_utf8(done.stdout).unwrap();
            let ids: Vec<i32> = text
                .split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect();
            assert_eq!(ids[0], ids[1], "it leads no group");
            ids[0] == ids[2]
        };
        assert!(!ids(RunAs::default(), false));
        assert!(ids(RunAs::default(), true));
        let user = User::current().ok();
        assert!(ids(
            RunAs {
                user,
                ..RunAs::default()
            },
            false
        ));
    }
}
