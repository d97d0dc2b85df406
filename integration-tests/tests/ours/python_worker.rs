//! What custom Python code may do to its process, and grains that are refreshed:
//! seen through `salt`, with a running minion.

use std::fs;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, START, until};
use serde_json::{Value, json};

const MODULE: &str = "
import os, signal, sys

def said():
    print('noise', flush=True)
    os.write(1, b'raw noise')
    return 'said'

def raises():
    from salt.exceptions import CommandExecutionError
    raise CommandExecutionError('odd indeed')

def leaves():
    os._exit(3)

def exits():
    sys.exit(3)

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

def eats():
    return len('x' * (1 << 62))

def forks():
    child = os.fork()
    if not child:
        return 'child'
    os.waitpid(child, 0)
    return 'parent'

def loops():
    open(os.path.join(os.path.dirname(__opts__['conf_file']), 'looping'), 'w').close()
    while True:
        pass
";

const GRAINS: &str = "
import os

def number():
    path = os.path.join(os.path.dirname(__opts__['conf_file']), 'number')
    return {'number': int(open(path).read())} if os.path.exists(path) else {}
";

fn asked(master: &Master, args: &[&str]) -> Result<Value> {
    let args = [&["web1"], args, &["--out=json"]].concat();
    // Some of these fail, as they should.
    let mut returns = master.salt(&args)?.by_minion()?;
    returns.remove("web1").context("no return")
}

/// The children of a process.
fn children(pid: i32) -> Result<Vec<String>> {
    let mut pids = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let listed = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        pids.extend(listed.split_whitespace().map(str::to_owned));
    }
    Ok(pids)
}

#[test]
fn users_code_cannot_take_the_minion_down() -> Result<()> {
    let fleet = Fleet::new("pyworker")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("_modules/odd.py", MODULE)
        .start()?;
    let mut web1 = fleet.minion("web1", Kind::Ours).of(&master).start()?;
    master.wait_minion("web1")?;
    asked(&master, &["test.ping"])?;
    let pid = web1.daemon().pid()?;
    until("no Python to run that nobody needs", START, || {
        Ok(children(pid)?.is_empty().then_some(()))
    })?;
    asked(&master, &["saltutil.sync_modules"])?;
    ensure!(asked(&master, &["odd.said"])? == json!("said"));
    let child = until("one child to run", START, || {
        let children = children(pid)?;
        Ok((children.len() == 1).then(|| children[0].clone()))
    })?;
    // Lists of processes show a line, not the worker's program.
    let typed = fs::read_to_string(format!("/proc/{child}/cmdline"))?;
    ensure!(
        typed.contains("python3") && typed.len() < 1000 && typed.lines().count() < 12,
        "ps shows {typed}"
    );
    for (fun, says) in [
        ("odd.leaves", "exit status: 3"),
        ("odd.killed", "SIGKILL"),
        ("odd.exits", "SystemExit"),
        ("odd.eats", "MemoryError"),
    ] {
        let failed = asked(&master, &[fun])?.to_string();
        ensure!(failed.contains(says), "{fun} returned {failed}");
        ensure!(
            asked(&master, &["odd.said"])? == json!("said"),
            "after {fun}"
        );
    }
    ensure!(asked(&master, &["odd.forks"])? == json!("parent"));
    ensure!(asked(&master, &["odd.said"])? == json!("said"));
    let started = master.salt(&["web1", "odd.loops", "--async"])?.ok()?;
    let jid = started
        .stdout
        .split_whitespace()
        .last()
        .context("no job id")?;
    let sign = web1.dir().join("looping");
    until("the loop to run", START, || Ok(sign.exists().then_some(())))?;
    asked(&master, &["saltutil.kill_job", jid])?;
    until("the loop to end", START, || {
        let running = asked(&master, &["saltutil.find_job", jid])?;
        Ok((running == json!({})).then_some(()))
    })?;
    ensure!(asked(&master, &["odd.said"])? == json!("said"));
    Ok(())
}

/// Logged where one looks for mistakes, and nowhere else.
#[test]
fn salt_call_logs_where_in_a_module_an_exception_was_raised() -> Result<()> {
    let fleet = Fleet::new("trace")?;
    let plan = fleet.minion("web1", Kind::Ours).set("master", "127.0.0.1");
    let minion = plan.set("file_client", "local").lay()?;
    let modules = minion.dir().join("var/cache/salt/minion/extmods/modules");
    fs::create_dir_all(&modules)?;
    fs::write(modules.join("odd.py"), MODULE)?;
    let said = |level: &str| -> Result<String> {
        let call = minion.call(&["--local", "-l", level, "odd.raises"])?;
        ensure!(call.code != 0, "{call}");
        Ok(call.stderr)
    };
    let debug = said("debug")?;
    for part in [
        "Traceback (most recent call last)",
        "odd.py\", line ",
        "in raises",
        "CommandExecutionError: odd indeed",
    ] {
        ensure!(debug.contains(part), "no {part} in {debug}");
    }
    let warning = said("warning")?;
    ensure!(!warning.contains("Traceback"), "{warning}");
    Ok(())
}

#[test]
fn without_python_the_error_says_so() -> Result<()> {
    let fleet = Fleet::new("nopython")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("_modules/odd.py", MODULE)
        .start()?;
    let _web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("python_executable", "/nowhere/python3")
        .start()?;
    master.wait_minion("web1")?;
    asked(&master, &["saltutil.sync_modules"])?;
    let failed = asked(&master, &["odd.said"])?.to_string();
    ensure!(failed.contains("/nowhere/python3"), "{failed}");
    Ok(())
}

#[test]
fn grains_are_collected_again_as_the_options_say() -> Result<()> {
    let fleet = Fleet::new("newgrains")?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .file("_grains/number.py", GRAINS)
        .start()?;
    let mut web1 = fleet
        .minion("web1", Kind::Ours)
        .of(&master)
        .set("grains_cache", true)
        .set("grains_refresh_every", 0.02)
        .start()?;
    master.wait_minion("web1")?;
    asked(&master, &["saltutil.sync_grains"])?;
    let kept = web1.dir().join("cache/grains.cache.p");
    // The minion finds out by itself, and so does its master.
    fs::write(web1.dir().join("number"), "7")?;
    until("the master to know the new grain", START, || {
        let known = master
            .tools(Kind::Ours)
            .runner(&["cache.grains", "web1", "--out=json"])?;
        let known: Value = serde_json::from_str(&known.stdout)?;
        Ok((known["web1"]["number"] == 7).then_some(()))
    })?;
    ensure!(kept.exists(), "nothing is kept at {}", kept.display());
    web1.stop()?;
    // What was kept is what a program that starts has; new ones where asked for.
    fs::write(web1.dir().join("number"), "8")?;
    ensure!(web1.called(&["--local", "grains.get", "number"])? == 7);
    let anew = ["--local", "--refresh-grains-cache", "grains.get", "number"];
    ensure!(web1.called(&anew)? == 8);
    ensure!(web1.called(&["--local", "grains.get", "number"])? == 8);
    Ok(())
}
