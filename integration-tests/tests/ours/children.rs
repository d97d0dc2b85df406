//! What programs inherit that a daemon starts, and what can block them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Fleet, Kind, Program, Recipe, SHORT, run, terminate, until};
use halite_test_support::have_root;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

/// Where a minion's own modules are, below its directory.
const EXTENSIONS: &str = "var/cache/salt/minion/extmods";

/// The shell has the directory open while it lists it.
const DESCRIPTORS: &str = "cd /proc/self/fd && echo *";

const MODULE: &str = "
import os, subprocess
def inherited():
    here = set(os.listdir('/proc/self/fd'))
    return sorted(os.readlink('/proc/self/fd/' + fd) for fd in here if os.path.exists('/proc/self/fd/' + fd))
";

#[test]
fn programs_of_a_minion_inherit_none_of_its_descriptors() -> Result<()> {
    let fleet = Fleet::new("children")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("_modules/own.py", MODULE)
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    let said = |args: &[&str]| -> Result<Value> {
        Ok(master.returns(&[&["web1"], args].concat())?["web1"].clone())
    };
    assert_eq!(said(&["cmd.run", DESCRIPTORS])?, json!("0 1 2 3"));
    said(&["saltutil.sync_modules"])?;
    let held = said(&["own.inherited"])?;
    let held = held.as_array().cloned().unwrap_or_default();
    ensure!(
        held.iter()
            .filter_map(Value::as_str)
            .all(|held| !held.contains("socket:") && !held.contains("anon_inode")),
        "the Python worker holds {held:?}"
    );
    drop(minion);
    Ok(())
}

/// What the minion has in its own environment may be root's alone.
#[test]
fn programs_that_run_as_others_inherit_no_terminal_and_no_environment() -> Result<()> {
    if !have_root() {
        return Ok(());
    }
    let fleet = Fleet::new("others")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let minion = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .env("HALITE_TEST_SECRET", "hunter2")
        .start()?;
    master.wait_minion("web1")?;
    let said = |args: &[&str]| -> Result<Value> {
        Ok(master.returns(&[&["web1"], args].concat())?["web1"].clone())
    };
    let nobody = said(&["cmd.run", DESCRIPTORS, "runas=nobody", "cwd=/"])?;
    assert_eq!(nobody, json!("0 1 2 3"));
    // The session of a process is the sixth field of its `stat`.
    let leads = "read -r pid _ _ _ _ session _ < /proc/$$/stat; test $pid = $session && echo yes";
    let own = said(&["cmd.run", leads, "runas=nobody", "cwd=/"])?;
    assert_eq!(own, json!("yes"));
    let secret = "echo \"<$HALITE_TEST_SECRET>\"";
    assert_eq!(said(&["cmd.run", secret])?, json!("<hunter2>"));
    let nobody = said(&["cmd.run", secret, "runas=nobody", "cwd=/"])?;
    assert_eq!(nobody, json!("<>"));
    drop(minion);
    Ok(())
}

/// Whoever starts a minion over ssh, or from Ansible, reads to the end of what it
/// says; the Python worker that has collected grains goes on for minutes.
#[test]
fn what_a_minion_starts_while_it_starts_holds_up_nobody_who_reads_its_output() -> Result<()> {
    const GRAINS: &str = "
import subprocess
def own():
    print('noise', flush=True)
    subprocess.Popen(['sleep', '300'])
    return {'own': 'here'}
";
    let fleet = Fleet::new("behind")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let mut minion = fleet.minion("web1", Kind::Ours).of(&master).lay()?;
    let modules = minion.dir().join(EXTENSIONS).join("grains");
    fs::create_dir_all(&modules)?;
    fs::write(modules.join("own.py"), GRAINS)?;
    let typed = minion.daemon().recipe().typed();
    let programs = fleet.programs().path(Kind::Ours, Program::Minion)?;
    let dir = programs.parent().unwrap_or_else(|| Path::new("."));
    let line = format!("PATH={}:$PATH; {typed} -d 2>&1 | cat", dir.display());
    let shell = Recipe::new("sh", "/bin/sh".into(), fleet.path()).args(&["-c", &line]);
    run(&shell, SHORT)?.ok()?;
    master.wait_minion("web1")?;
    let known = master.returns(&["web1", "grains.get", "own"])?;
    assert_eq!(known["web1"], json!("here"));
    let pid: i32 = fs::read_to_string(minion.dir().join("pid"))?
        .trim()
        .parse()?;
    terminate(pid)?;
    until("the minion to end", SHORT, || {
        Ok((!Path::new(&format!("/proc/{pid}")).exists()).then_some(()))
    })
}

/// The owner of a directory may put a pipe where a state expects a file.
#[test]
fn a_named_pipe_in_the_place_of_a_file_holds_nothing_up() -> Result<()> {
    let fleet = Fleet::new("pipes")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("there.txt", "from the master\n")
        .start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    let pipe = fleet.path().join("pipe");
    let path = pipe.display().to_string();
    let states: [&[&str]; 7] = [
        &["file.managed", "contents=text"],
        &["file.managed", "source=salt://there.txt"],
        &["file.append", "text=more"],
        &["file.replace", "pattern=a", "repl=b"],
        &["file.line", "content=x", "mode=ensure", "after=y"],
        &["file.blockreplace", "content=x", "append_if_not_found=True"],
        &["file.keyvalue", "key=a", "value=b"],
    ];
    for state in states {
        mkfifo(&pipe, Mode::S_IRWXU)?;
        let name = format!("name={path}");
        let mut words = vec!["state.single", state[0], &name];
        words.extend(&state[1..]);
        // Whatever comes of it: the call ends, which its time limit watches.
        minion.call(&words)?;
        fs::remove_file(&pipe)?;
    }
    for function in ["file.get_hash", "file.read", "hashutil.digest_file"] {
        mkfifo(&pipe, Mode::S_IRWXU)?;
        minion.call(&[function, &path])?;
        fs::remove_file(&pipe)?;
    }
    Ok(())
}

/// Nothing wakes a thread that waits in the kernel for a pipe to be written.
#[test]
fn a_killed_job_that_is_stuck_in_the_kernel_holds_up_no_state_run() -> Result<()> {
    const WITHIN: Duration = Duration::from_secs(60);
    let fleet = Fleet::new("stuck")?;
    let master = fleet.master("m1", Kind::Ours).auto_accept().start()?;
    let minion = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    // The minion's own file, which is read as it comes: only its user may put one there.
    let pipe = minion.dir().join("grains");
    mkfifo(&pipe, Mode::S_IRWXU)?;
    let stuck = [
        "state.single",
        "module.run",
        "grains.setval",
        "key=a",
        "val=b",
    ];
    let started = master
        .salt(&[&["web1"], &stuck[..], &["--async"]].concat())?
        .ok()?;
    let jid = started
        .stdout
        .split_whitespace()
        .last()
        .unwrap_or_default()
        .to_owned();
    // It fails while another run goes on.
    let next = || master.salt(&["web1", "state.single", "test.nop", "name=next"]);
    let until = Instant::now() + WITHIN;
    while next()?.code == 0 {
        ensure!(Instant::now() < until, "the state run is not stuck");
    }
    master.returns(&["web1", "saltutil.kill_job", &jid])?;
    let until = Instant::now() + WITHIN;
    while next()?.code != 0 {
        ensure!(Instant::now() < until, "no state run begins");
    }
    let told = master
        .tools(Kind::Ours)
        .runner(&["jobs.lookup_jid", &jid])?;
    ensure!(
        told.stdout.contains("no longer waits for it"),
        "{}",
        told.stdout
    );
    // Whoever writes to the pipe lets the thread end; it has nothing to say.
    fs::write(&pipe, "text")?;
    master.returns(&["web1", "test.ping"])?;
    drop(minion);
    Ok(())
}
