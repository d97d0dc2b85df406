//! Commands that are really run.

use std::fs::{self, File};
use std::sync::mpsc;

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
    let alive = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
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
    if !halite_test_support::have_root() {
        return;
    }
    let user = User::current().ok();
    assert!(ids(
        RunAs {
            user,
            ..RunAs::default()
        },
        false
    ));
}

/// The variable with which this test starts itself.
const VICTIM: &str = "HALITE_TEST_VICTIM";

#[test]
fn a_program_that_ends_with_us_does_not_outlive_a_kill() {
    use std::io::{BufRead, BufReader, Write};

    if std::env::var_os(VICTIM).is_some() {
        let options = RunOptions {
            own_session: true,
            ends_with_us: true,
            ..RunOptions::default()
        };
        let mut long = command("sleep");
        long.arg("600");
        let started = |group| writeln!(io::stderr(), "group {group}").unwrap();
        run(long, options, started).unwrap();
        return;
    }
    let name = "child::tests::a_program_that_ends_with_us_does_not_outlive_a_kill";
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim
        .args(["--exact", name, "--nocapture"])
        .env(VICTIM, "1");
    let mut victim = victim.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(victim.stderr.take().unwrap()).lines();
    let group = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("group ")?.parse::<i32>().ok());
    let stat = format!("/proc/{}/stat", group.expect("it has begun"));
    victim.kill().unwrap();
    victim.wait().unwrap();
    // Nobody may have asked how it ended.
    let is_at_work = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let give_up = Instant::now() + Duration::from_secs(30);
    while is_at_work() {
        assert!(Instant::now() < give_up, "it is still at work");
        thread::yield_now();
    }
}
