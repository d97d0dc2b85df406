//! Engines of an administrator that do harm: the master goes on, says what it limits, and
//! nothing of them is left at its end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{
    Event, Fleet, Kind, Master, Minion, SHORT, START, Signal, own_kib, until,
};
use halite_test_support::have_programs;
use serde_json::{Value, json};

/// What one engine may ask in a second, and what it may ask at once after a pause
/// (`crates/call/src/limits.rs`).
const MESSAGES_PER_S: u64 = 2000;
const MESSAGES_AT_ONCE: u64 = 4000;

/// The part of the log that one engine has in a minute, twice: a line has more than its
/// text, and the console has the same lines.
const LOG_BYTES_PER_MINUTE: u64 = 2 * 256 * 1024;

/// What an event has, so that thousands of them are more than may wait for a subscriber
/// (64 MiB).
const BYTES: usize = 8 * 1024;

/// What a master may have, in KiB: 27 MiB at rest, what waits for two subscribers, and as
/// much as for one again.
const MEMORY_MAX_KIB: u64 = (27 + 3 * 64) * 1024;

/// How long a master may take to end: 2 s for engines, 2 s for those who ask it for
/// something, 4 s for what has begun; the rest is for a busy machine.
const END_MAX: Duration = Duration::from_secs(20);

const PINGS: usize = 5;

/// Each for ever, and as fast as it can, except `calm`.
const FLOODS: &str = "
import logging, os, sys, time

def start(does, size):
    number = 0
    if does == 'calm':
        for byte in 'calmly ☃\\n'.encode():
            sys.stdout.buffer.write(bytes([byte]))
    while True:
        number += 1
        if does == 'fires':
            __salt__['event.send']('floods/fires', {'number': number, 'text': 'x' * size})
        elif does == 'logs':
            logging.getLogger('floods').error('logged %d', number)
        elif does == 'prints':
            print('printed', number)
        elif does == 'writes':
            os.write(1 + number % 2, b'x' * size)
        else:
            __salt__['event.send']('floods/calm', {'number': number})
            time.sleep(0.05)
";

/// It takes 200 events in a second (1000 at once).
const SLOW: &str = "
import time

def event_return(events):
    time.sleep(5)
";

/// Each notes itself and what it has started, all of which ignores SIGTERM.
const ENDS: &str = "
import __main__, os, signal, subprocess, threading, time

def start(does, notes):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    held = [__main__.TO_HOST.fileno()] if does == 'lends' else []
    started = [os.getpid(), subprocess.Popen(['sleep', '1000'], pass_fds=held).pid]
    forked = os.fork()
    if not forked:
        while True:
            time.sleep(1000)
    with open(notes, 'a') as out:
        print(*started, forked, file=out)
    if does == 'returns':
        return
    if does in ('leaves', 'lends'):
        os._exit(0)
    if does == 'closes':
        os.close(__main__.FROM_HOST.fileno())
        os.close(__main__.TO_HOST.fileno())
    threading.Thread(target=time.sleep, args=(1000,)).start()
    if does == 'asks':
        __salt__['test.sleep'](1000)
    while True:
        time.sleep(1000)
";

/// Those of `ENDS` that end by themselves, and those that have to be ended.
const SHORT_LIVED: [&str; 4] = ["returns", "leaves", "lends", "closes"];
const ENDLESS: [&str; 2] = ["asks", "hangs"];

/// A master with engines of one module.
fn start(fleet: &Fleet, code: &str, engines: Value, event_return: &str) -> Result<Master> {
    let own = fleet.path().join("own");
    for (dir, file, code) in [("engines", "harm.py", code), ("returners", "slow.py", SLOW)] {
        fs::create_dir_all(own.join(dir))?;
        fs::write(own.join(dir).join(file), code)?;
    }
    fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("module_dirs", json!([own]))
        .set("engines", engines)
        .set("event_return", event_return)
        .start()
}

fn start_minion(fleet: &Fleet, master: &Master) -> Result<Minion> {
    let web1 = fleet.minion("web1", Kind::Ours).of(master).start()?;
    master.wait_minion("web1")?;
    Ok(web1)
}

/// An engine of the module for each of these, with its arguments.
fn engines(does: &[&str], args: impl Fn(&str) -> (&'static str, Value)) -> Value {
    let engine = |does: &&str| {
        let (name, value) = args(does);
        json!({ *does: { "engine_module": "harm", "does": *does, name: value } })
    };
    does.iter().map(engine).collect()
}

fn log_of(master: &Master) -> Result<String> {
    Ok(fs::read_to_string(master.dir().join("log"))?)
}

fn wait_for_line(master: &Master, line: &str) -> Result<()> {
    until(line, START, || {
        Ok(log_of(master)?.contains(line).then_some(()))
    })
}

#[test]
fn engines_that_flood_hold_up_and_crowd_out_nobody() -> Result<()> {
    if !have_programs(&["python3"]) {
        return Ok(());
    }
    let fleet = Fleet::new("floods")?;
    let begun = Instant::now();
    let all = ["calm", "fires", "logs", "prints", "writes"];
    let engines = engines(&all, |_| ("size", BYTES.into()));
    let mut master = start(&fleet, FLOODS, engines, "slow")?;
    // It reads nothing, so the bus ends its connection.
    let unread = UnixStream::connect(master.dir().join("run/master_event_pub.ipc"))?;
    let _web1 = start_minion(&fleet, &master)?;
    for lost in [
        "disconnected a subscriber of the event bus",
        "events were not stored: the returners of events are too slow",
    ] {
        wait_for_line(&master, lost)?;
    }
    wait_for_line(&master, "the engine logs asks and logs more than")?;
    for engine in ["logs", "prints"] {
        wait_for_line(&master, &format!("the engine {engine} logs more than"))?;
    }
    wait_for_line(&master, "calmly ☃")?;
    let number = |event: &Event| event.data["number"].as_i64();
    let heard = master.events()?;
    let (fired, took) = (heard.events(), begun.elapsed());
    let of = |tag: &str| -> Vec<i64> {
        let events = fired.iter().filter(|event| event.tag == tag);
        events.filter_map(number).collect()
    };
    let fires = u64::try_from(of("floods/fires").len())?;
    let most = MESSAGES_AT_ONCE + MESSAGES_PER_S * (took.as_secs() + 1);
    ensure!(fires <= most, "{fires} events in {took:?}");
    // Whoever reads hears each event of the others.
    let calm = of("floods/calm");
    let gaps = calm.windows(2).filter(|pair| pair[1] != pair[0] + 1);
    ensure!(!calm.is_empty() && gaps.count() == 0, "{calm:?}");
    drop((fired, unread));
    master.stop_listening();
    for _ in 0..PINGS {
        master.check_ping(&["web1"])?;
    }
    let memory = own_kib(&[master.daemon().pid()?])?;
    ensure!(memory < MEMORY_MAX_KIB, "the master has {memory} KiB");
    let minutes = begun.elapsed().as_secs() / 60 + 2;
    for file in ["log", "console"] {
        let bytes = fs::metadata(master.dir().join(file))?.len();
        // Two of them log.
        ensure!(
            bytes < 2 * LOG_BYTES_PER_MINUTE * minutes,
            "{bytes} bytes in {file}"
        );
    }
    check_end(&mut master)
}

/// SIGTERM ends the master in time, whatever its engines do.
fn check_end(master: &mut Master) -> Result<()> {
    let begun = Instant::now();
    let code = master.stop()?;
    let took = begun.elapsed();
    ensure!(
        code == 0 && took < END_MAX,
        "exit code {code} after {took:?}"
    );
    Ok(())
}

/// The processes that each start of an engine has noted.
fn noted(dir: &Path, does: &str) -> Vec<Vec<i32>> {
    let text = fs::read_to_string(dir.join(does)).unwrap_or_default();
    let pids =
        |line: &str| -> Vec<i32> { line.split(' ').filter_map(|pid| pid.parse().ok()).collect() };
    text.lines().map(pids).collect()
}

/// Whether a process runs: one that nobody has asked how it ended does not.
fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn wait_gone(what: &str, pids: impl Fn() -> Vec<i32>) -> Result<()> {
    until(what, SHORT, || {
        Ok((!pids().into_iter().any(lives)).then_some(()))
    })
}

/// A master whose engines have each started several times, or for good.
fn start_ends(fleet: &Fleet, notes: &Path) -> Result<Master> {
    fs::create_dir_all(notes)?;
    let all = [&SHORT_LIVED[..], &ENDLESS[..]].concat();
    let path = |does: &str| notes.join(does).display().to_string();
    let engines = engines(&all, |does| ("notes", path(does).into()));
    let master = start(fleet, ENDS, engines, "")?;
    for (engines, starts) in [(&SHORT_LIVED[..], 3), (&ENDLESS[..], 1)] {
        for does in engines {
            until(&format!("{does} to start"), START, || {
                Ok((noted(notes, does).len() >= starts).then_some(()))
            })?;
        }
    }
    Ok(master)
}

fn all_noted(notes: &Path) -> Vec<i32> {
    let engines = SHORT_LIVED.iter().chain(&ENDLESS);
    engines
        .flat_map(|does| noted(notes, does).concat())
        .collect()
}

#[test]
fn engines_that_end_badly_leave_nothing_behind() -> Result<()> {
    if !have_programs(&["python3", "sleep"]) {
        return Ok(());
    }
    let fleet = Fleet::new("ends")?;
    let notes = fleet.path().join("notes");
    let mut master = start_ends(&fleet, &notes)?;
    let _web1 = start_minion(&fleet, &master)?;
    for does in SHORT_LIVED {
        // The last of them may have started just now.
        wait_gone(&format!("what {does} has started to end"), || {
            let mut starts = noted(&notes, does);
            starts.pop();
            starts.concat()
        })?;
    }
    master.check_ping(&["web1"])?;
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    let (log, starts) = (log_of(&master)?, |does| noted(&notes, does).len());
    for does in SHORT_LIVED {
        let lines = log.matches(&format!("the engine {does} has ")).count();
        said.insert(does, lines);
        // At its first and its second end, and perhaps at those that followed.
        ensure!((2..=starts(does)).contains(&lines), "{said:?}");
    }
    for pause in ["starts again in 1 s", "starts again in 2 s"] {
        ensure!(log.contains(pause), "no {pause}");
    }
    check_end(&mut master)?;
    wait_gone("all that engines have started to end", || all_noted(&notes))
}

/// A master that is killed can end nobody: its engines see that for themselves.
#[test]
fn nothing_of_an_engine_outlives_a_master_that_is_killed() -> Result<()> {
    if !have_programs(&["python3", "sleep"]) {
        return Ok(());
    }
    let fleet = Fleet::new("killed")?;
    let notes = fleet.path().join("notes");
    let mut master = start_ends(&fleet, &notes)?;
    master.stop_listening();
    master.daemon().signal(Signal::SIGKILL)?;
    wait_gone("what endless engines have started to end", || {
        let engines = ENDLESS.iter();
        engines
            .flat_map(|does| noted(&notes, does).concat())
            .collect()
    })
}
