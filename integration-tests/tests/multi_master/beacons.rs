//! The beacons exist once per minion, whatever the number of masters.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use halite_integration_tests::{Master, Minion, SHORT, Signal, until};
use serde_json::{Value, json};

use crate::support::{Several, is_logged, plain_master, wait_ping};

/// How long what was done may go unseen before it is done once more.
const AGAIN: Duration = Duration::from_millis(200);

/// The events of a beacon that a master has told of.
fn seen(master: &Master, beacon: &str) -> Result<Vec<(String, Value)>> {
    let prefix = format!("salt/beacon/web1/{beacon}/");
    let events = master.events()?.events().into_iter();
    let of_beacon = events.filter(|event| event.tag.starts_with(&prefix));
    Ok(of_beacon.map(|event| (event.tag, event.data)).collect())
}

fn append(path: &Path, text: &str) -> Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// What a beacon told, once that is among it: tags, a field, and all of them.
fn until_last(
    master: &Master,
    beacon: &str,
    field: &str,
    last: &str,
) -> Result<Vec<(String, String, Value)>> {
    until(&format!("{last} of {beacon}"), SHORT, || {
        let told: Vec<(String, String, Value)> = seen(master, beacon)?
            .into_iter()
            .map(|(tag, data)| {
                (
                    tag,
                    data[field].as_str().unwrap_or_default().to_owned(),
                    data,
                )
            })
            .collect();
        Ok(told.iter().any(|(_, what, _)| what == last).then_some(told))
    })
}

/// What is seen once is told once to each master.
#[test]
fn an_event_of_a_beacon_reaches_each_master_once() -> Result<()> {
    let mut several = Several::without_minions(3, plain_master)?;
    let watched = several.fleet.path().join("watched");
    fs::create_dir(&watched)?;
    let log = several.fleet.path().join("log");
    fs::write(&log, "good bye: not new\n")?;
    several.add_minions(1, |plan| {
        plan.set("loop_interval", json!(0.1)).set(
            "beacons",
            json!({
                "inotify": [{ "files": { watched.display().to_string(): { "mask": ["create"] } } }],
                "log": [{ "file": log.display().to_string() },
                    { "tags": { "a/b": { "regex": ".*bye" } } }],
                "swapusage": [{ "percent": 0 }, { "run_once": true }],
                "nope": [{ "a": 1 }],
            }),
        )
    })?;
    for master in &several.masters {
        master.wait_minion("web1")?;
    }
    // Whether the first look has been taken is seen by what is told. There is
    // something new now and then only: each is an event for every master.
    let mut number = 0;
    let mut last: Option<Instant> = None;
    until("the first events", SHORT, || {
        if last.is_none_or(|last| last.elapsed() > AGAIN) {
            last = Some(Instant::now());
            number += 1;
            fs::write(watched.join(number.to_string()), "")?;
            append(&log, &format!("bye {number}\nother\n"))?;
        }
        let has_all = |master| {
            let told = |beacon| seen(master, beacon).is_ok_and(|told| !told.is_empty());
            told("inotify") && told("log")
        };
        Ok(several.masters.iter().all(has_all).then_some(()))
    })?;
    fs::write(watched.join("last"), "")?;
    append(&log, "bye last\n")?;
    let directory = format!("salt/beacon/web1/inotify/{}", watched.display());
    let file = watched.join("last").display().to_string();
    for master in &several.masters {
        let files = until_last(master, "inotify", "path", &file)?;
        let lines = until_last(master, "log", "raw", "bye last")?;
        for told in [&files, &lines] {
            let once: BTreeSet<&String> = told.iter().map(|(_, what, _)| what).collect();
            ensure!(once.len() == told.len(), "told twice: {told:?}");
        }
        ensure!(
            files.iter().all(|(tag, ..)| *tag == directory),
            "got {files:?}"
        );
        ensure!(
            files
                .iter()
                .all(|(.., data)| data["change"] == "IN_CREATE" && data["id"] == "web1"),
            "got {files:?}"
        );
        ensure!(
            lines
                .iter()
                .all(|(tag, ..)| tag == "salt/beacon/web1/log/a/b"),
            "got {lines:?}"
        );
        ensure!(seen(master, "swapusage")?.len() <= 1, "it was to run once");
    }
    Ok(())
}

/// Beacons come and go over any master and by `salt-call`, and those that are
/// saved are there after a restart.
#[test]
fn beacons_are_changed_from_anywhere_and_survive_a_restart() -> Result<()> {
    let mut several = Several::with(2, 1, plain_master, |plan| {
        plan.set("loop_interval", json!(0.1))
    })?;
    let (first, second, minion) = several.two()?;
    let data = "[{'percent': 0}]";
    let added = first.returns(&["web1", "beacons.add", "swapusage", data])?;
    let expected = json!({ "comment": "Added beacon: swapusage.", "result": true });
    ensure!(added["web1"] == expected, "got {added:?}");
    for master in [&first, &second] {
        until("an event", SHORT, || {
            Ok((!seen(master, "swapusage")?.is_empty()).then_some(()))
        })?;
    }
    let twice = second.returns(&["web1", "beacons.add", "swapusage", data])?;
    ensure!(twice["web1"]["comment"] == "Beacon swapusage is already configured.");
    let bad = [
        ("nope", "[]", "Beacon \"nope\" is not available."),
        (
            "ps",
            "[]",
            "Beacon ps configuration invalid, not adding.\nConfiguration for ps beacon requires processes.",
        ),
    ];
    for (name, data, why) in bad {
        let refused = minion.call(&["beacons.add", name, data, "--out=json"])?;
        let refused = refused.exit(1)?.of("local")?;
        ensure!(refused["comment"] == why, "got {refused}");
    }
    let off = minion.called(&["beacons.disable_beacon", "swapusage"])?;
    ensure!(
        off["comment"] == "Disabled beacon swapusage on minion.",
        "got {off}"
    );
    let modified = minion.called(&["beacons.modify", "swapusage", "[{'percent': 101}]"])?;
    ensure!(
        modified["comment"] == "Modified beacon: swapusage.",
        "got {modified}"
    );
    let diff = "--- \n+++ \n@@ -1,2 +1 @@\n-percent:0\n-enabled:False\n+percent:101\n";
    ensure!(modified["changes"]["diff"] == diff, "got {modified}");
    let saved = second.returns(&["web1", "beacons.save"])?;
    ensure!(saved["web1"]["result"] == json!(true), "got {saved:?}");
    minion.stop()?;
    minion.start()?;
    second.wait_minion("web1")?;
    let listed = second.returns(&["web1", "beacons.list", "return_yaml=False"])?;
    let expected = json!({ "swapusage": [{ "percent": 101 }] });
    ensure!(listed["web1"] == expected, "got {listed:?}");
    Ok(())
}

/// Starts a master whose events are heard before the minion's come: that is
/// held up meanwhile.
fn start_heard(master: &mut Master, minion: &mut Minion) -> Result<()> {
    minion.daemon().signal(Signal::SIGSTOP)?;
    let started = master.start();
    minion.daemon().signal(Signal::SIGCONT)?;
    started
}

/// The lines that the beacon `log` has told a master of.
fn lines(told: &[(String, String, Value)]) -> Vec<&str> {
    told.iter().map(|(_, what, _)| what.as_str()).collect()
}

/// What is seen while no master is there waits for the first that comes, which
/// has all of it, in order; a master that was away while another was there has
/// what comes after.
#[test]
fn what_beacons_see_without_masters_waits_for_the_first() -> Result<()> {
    let mut several = Several::without_minions(2, plain_master)?;
    let log = several.fleet.path().join("log");
    fs::write(&log, "")?;
    several.add_minions(1, |plan| {
        plan.set("loop_interval", json!(0.1)).set(
            "beacons",
            json!({ "log": [{ "file": log.display().to_string() },
                    { "tags": { "a/b": { "regex": ".*bye" } } }] }),
        )
    })?;
    let (first, second, minion) = several.two()?;
    first.wait_minion("web1")?;
    second.wait_minion("web1")?;
    let mut number = 0;
    until("the beacon to look", SHORT, || {
        number += 1;
        append(&log, &format!("bye {number}\n"))?;
        let both = [&*first, &*second];
        let told = both.map(|master| seen(master, "log").is_ok_and(|told| !told.is_empty()));
        Ok((told == [true; 2]).then_some(()))
    })?;
    first.kill9()?;
    second.kill9()?;
    // Until the minion knows, and some more after that.
    let mut expected = Vec::new();
    let mut say = |what: String| -> Result<()> {
        append(&log, &format!("{what}\n"))?;
        expected.push(what);
        Ok(())
    };
    until("the minion to be alone", SHORT, || {
        number += 1;
        say(format!("bye {number}"))?;
        let said = is_logged(
            minion.dir(),
            &["no master can be reached: keeping the events of beacons"],
        );
        Ok(said.then_some(()))
    })?;
    say("bye alone".to_owned())?;
    say("bye all".to_owned())?;
    start_heard(second, minion)?;
    let told = until_last(second, "log", "raw", "bye all")?;
    ensure!(
        lines(&told).ends_with(&expected.iter().map(String::as_str).collect::<Vec<_>>()),
        "got {told:?} instead of {expected:?}"
    );
    second.wait_minion("web1")?;
    append(&log, "bye second\n")?;
    until_last(second, "log", "raw", "bye second")?;
    start_heard(first, minion)?;
    wait_ping(first, "web1")?;
    append(&log, "bye both\n")?;
    for (master, was_there) in [(&*first, false), (&*second, true)] {
        let told = until_last(master, "log", "raw", "bye both")?;
        let once: BTreeSet<&str> = lines(&told).into_iter().collect();
        ensure!(once.len() == told.len(), "told twice: {told:?}");
        ensure!(once.contains("bye second") == was_there, "got {told:?}");
    }
    Ok(())
}

/// A master and its minion, whose beacon `log` looks at that file already and
/// whose requests wait for a second.
fn with_short_patience() -> Result<(Several, PathBuf)> {
    let mut several = Several::without_minions(1, plain_master)?;
    let log = several.fleet.path().join("log");
    fs::write(&log, "")?;
    several.add_minions(1, |plan| {
        plan.set("loop_interval", json!(0.1))
            .set("request_channel_timeout", json!(1))
            .set("log_level_logfile", "debug")
            .set(
                "beacons",
                json!({ "log": [{ "file": log.display().to_string() },
                    { "tags": { "a/b": { "regex": ".*bye" } } }] }),
            )
    })?;
    let master = &several.masters[0];
    master.wait_minion("web1")?;
    let mut number = 0;
    until("the beacon to look", SHORT, || {
        number += 1;
        append(&log, &format!("bye {number}\n"))?;
        Ok((!seen(master, "log")?.is_empty()).then_some(()))
    })?;
    Ok((several, log))
}

/// Waits until an event was sent so often without an answer.
fn until_sent(minion: &Minion, times: usize) -> Result<()> {
    until("the minion to send it again", SHORT, || {
        let text = fs::read(minion.dir().join("log"))?;
        let text = String::from_utf8_lossy(&text);
        let tries = text
            .matches("could not send events of beacons, trying again: no answer")
            .count();
        Ok((tries >= times).then_some(()))
    })
}

/// A master that hangs has been sent an event again and again by the time it
/// goes on; it tells of it once.
#[test]
fn an_event_that_was_sent_again_is_told_once() -> Result<()> {
    let (mut several, log) = with_short_patience()?;
    let (master, minion) = (&mut several.masters[0], &several.minions[0]);
    master.daemon().signal(Signal::SIGSTOP)?;
    append(&log, "bye hanging\n")?;
    let sent = until_sent(minion, 2);
    master.daemon().signal(Signal::SIGCONT)?;
    sent?;
    append(&log, "bye last\n")?;
    until_last(master, "log", "raw", "bye last")?;
    wait_ping(master, "web1")?;
    let told = until_last(master, "log", "raw", "bye last")?;
    let once: BTreeSet<&str> = lines(&told).into_iter().collect();
    ensure!(once.len() == told.len(), "told twice: {told:?}");
    ensure!(once.contains("bye hanging"), "got {told:?}");
    Ok(())
}

/// A minion that ends says what nobody has answered for.
#[test]
fn a_minion_that_ends_says_which_events_may_be_lost() -> Result<()> {
    let (mut several, log) = with_short_patience()?;
    let (master, minion) = (&mut several.masters[0], &mut several.minions[0]);
    master.daemon().signal(Signal::SIGSTOP)?;
    append(&log, "bye hanging\n")?;
    let ended = until_sent(minion, 1).and_then(|()| minion.stop());
    master.daemon().signal(Signal::SIGCONT)?;
    ended?;
    ensure!(
        is_logged(minion.dir(), &["events of beacons may be lost"]),
        "not said"
    );
    Ok(())
}
