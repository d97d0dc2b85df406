//! How our minion treats publications that no honest master sends: it runs nothing
//! of them, and the next good one at once.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use halite_crypto::PrivateKey;
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::wire::stand_in_master::StandInMaster;
use halite_integration_tests::{Fleet, Kind, Minion, START, until};

const GROWTH_MAX_KIB: u64 = 8 * 1024;

struct Target {
    master: StandInMaster,
    minion: Minion,
    written: PathBuf,
    serial: i64,
    /// The sealer and the last stamp of good publications, if the master is one of a
    /// cluster.
    stamp: Option<(u32, u64)>,
    fleet: Fleet,
}

impl Target {
    fn start(options: &[(&str, bool)]) -> Result<Self> {
        let fleet = Fleet::new("hostile")?;
        let master = StandInMaster::start()?;
        let plan = fleet
            .minion("web1", Kind::Ours)
            .set("master", master.address().to_string());
        let minion = options
            .iter()
            .fold(plan, |plan, (name, value)| plan.set(name, *value))
            .start()?;
        master.wait_ready()?;
        let written = fleet.path().join("written");
        Ok(Self {
            master,
            minion,
            written,
            serial: 0,
            stamp: None,
            fleet,
        })
    }

    /// Another process of the minion.
    fn restart(&mut self) -> Result<()> {
        self.minion.stop()?;
        self.master.cut_off();
        self.master.forget_requests();
        self.minion.start()?;
        self.master.wait_ready()
    }

    /// A command that leaves a line with `word`.
    fn load(&mut self, word: &str) -> Item {
        self.serial += 1;
        let command = format!("echo {word} >> {}", self.written.display());
        Item::map([
            ("fun", Item::from("cmd.run")),
            ("arg", Item::List(vec![Item::from(command.as_str())])),
            ("tgt", Item::from("*")),
            (
                "jid",
                Item::from(format!("202611201200000000{:02}", self.serial).as_str()),
            ),
            ("ret", Item::from("")),
            ("tgt_type", Item::from("glob")),
            ("user", Item::from("root")),
            ("serial", Item::from(self.serial)),
        ])
    }

    /// The frame of a command that a master of a cluster has published.
    fn stamped(&mut self, word: &str, sealer: u32, moment: u64) -> Result<Vec<u8>> {
        let load = without(&self.load(word), "serial");
        self.master.stamped(&load, sealer, moment)
    }

    /// The next good publication runs, and nothing else has run meanwhile.
    fn check_only_runs(&mut self, words: &[&str]) -> Result<()> {
        let good = self.load("good");
        match &mut self.stamp {
            Some((sealer, moment)) => {
                *moment += 1;
                let frame = self
                    .master
                    .stamped(&without(&good, "serial"), *sealer, *moment)?;
                self.master.publish_raw(&frame);
            }
            None => self.master.publish(&good)?,
        }
        let jid = good.get("jid").cloned();
        self.master
            .wait_request("the return of a good publication", |load| {
                load.get("cmd").and_then(Item::text) == Some("_return")
                    && load.get("jid") == jid.as_ref()
            })?;
        // Jobs run side by side, so their order says nothing.
        let mut wanted = words.to_vec();
        wanted.push("good");
        wanted.sort_unstable();
        let lines = until("all good publications to run", START, || {
            let written = fs::read_to_string(&self.written)?;
            let mut lines: Vec<String> = written.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            Ok((lines.len() >= wanted.len()).then_some(lines))
        })?;
        ensure!(lines == wanted, "these ran: {lines:?}");
        fs::remove_file(&self.written)?;
        ensure!(self.minion.daemon().is_running(), "the minion has ended");
        Ok(())
    }
}

fn without(load: &Item, field: &str) -> Item {
    with(load, field, None)
}

fn with(load: &Item, field: &str, value: Option<Item>) -> Item {
    let Item::Map(entries) = load else {
        return load.clone();
    };
    let mut entries = entries.clone();
    entries.retain(|(name, _)| name.text() != Some(field));
    entries.extend(value.map(|value| (Item::from(field), value)));
    Item::Map(entries)
}

/// Recorded on a wire without keys while the minion was cut off, and played when it
/// is back.
#[test]
fn what_was_recorded_before_a_reconnect_is_not_run_after_it() -> Result<()> {
    let mut target = Target::start(&[])?;
    let recorded = target.load("recorded");
    let recorded = target.master.seal(&recorded);
    let recorded = target.master.publication(&recorded, None)?.pack();
    target.check_only_runs(&[])?;
    target.master.cut_off();
    target.master.wait_subscriber()?;
    target.master.publish_raw(&recorded);
    target.check_only_runs(&[])
}

/// What was published last while the minion was cut off has a larger number than
/// anything that has come. A master of Halite says in the sign-in what it has
/// published, also one that keeps no jobs for those that missed them.
#[test]
fn what_was_published_last_before_a_sign_in_is_not_run_after_it() -> Result<()> {
    for keeps_no_jobs in [false, true] {
        let mut target = Target::start(&[])?;
        target.check_only_runs(&[])?;
        let recorded = target.load("recorded");
        let recorded = target.master.seal(&recorded);
        let recorded = target.master.publication(&recorded, None)?.pack();
        target.master.say(Item::map([
            ("serial", Item::from(target.serial)),
            ("keeps_no_jobs", Item::Bool(keeps_no_jobs)),
        ]));
        target.master.cut_off();
        target.master.wait_subscriber()?;
        target.master.publish_raw(&recorded);
        target.check_only_runs(&[])?;
    }
    Ok(())
}

/// The masters of a cluster publish with one key and no numbers: the seal says which
/// of them has published, and when.
#[test]
fn what_a_cluster_published_before_a_sign_in_is_not_run_after_it() -> Result<()> {
    const SECOND: u64 = 1_000_000;
    let mut target = Target::start(&[])?;
    let sign_in = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let sign_in = u64::try_from(sign_in.as_micros())?;
    let [of_sign_in, other] = [1, 2];
    target.stamp = Some((of_sign_in, sign_in));
    target.master.say(Item::map([
        ("sealer", Item::from(i64::from(of_sign_in))),
        ("moment", Item::from(i64::try_from(sign_in)?)),
    ]));
    let recorded = [
        target.stamped("recorded", of_sign_in, sign_in)?,
        target.stamped("recorded", other, sign_in - 61 * SECOND)?,
    ];
    target.master.cut_off();
    target.master.wait_subscriber()?;
    // Its clock is behind that of the sign-in's master.
    let new = target.stamped("new", other, sign_in - 59 * SECOND)?;
    for frame in recorded.iter().chain([&new]) {
        target.master.publish_raw(frame);
    }
    target.check_only_runs(&["new"])?;
    // A new process of the minion signs in at a master that does not say it.
    target.master.say(Item::map([]));
    target.restart()?;
    for frame in recorded.iter().chain([&new]) {
        target.master.publish_raw(frame);
    }
    target.check_only_runs(&[])
}

/// Nothing but the numbers that have come tells what a master of Salt has published.
#[test]
fn what_is_older_than_what_has_come_is_not_run_after_a_restart() -> Result<()> {
    let mut target = Target::start(&[])?;
    let recorded = target.load("recorded");
    let recorded = target.master.seal(&recorded);
    let recorded = target.master.publication(&recorded, None)?.pack();
    target.check_only_runs(&[])?;
    target.restart()?;
    target.master.publish_raw(&recorded);
    target.check_only_runs(&[])
}

#[test]
fn frames_that_are_no_publications_run_nothing() -> Result<()> {
    let mut target = Target::start(&[])?;
    target.check_only_runs(&[])?;
    let load = target.load("bad");
    let good = target
        .master
        .publication(&target.master.seal(&load), None)?
        .pack();
    for frame in [
        &b""[..],
        b"\xc1",
        b"\xdf\xff\xff\xff\xff",
        &[0x91; 5000],
        good.get(..good.len() / 2).unwrap_or_default(),
    ] {
        target.master.publish_raw(frame);
    }
    let envelope = target
        .master
        .publication(&target.master.seal(&load), None)?;
    for bad in [
        with(&envelope, "enc", Some(Item::from("clear"))),
        with(
            &with(&envelope, "enc", Some(Item::from("clear"))),
            "load",
            Some(load.clone()),
        ),
        with(&envelope, "load", Some(load.clone())),
        with(&envelope, "load", Some(Item::from(&b"short"[..]))),
        without(&envelope, "load"),
        Item::List(vec![envelope.clone()]),
    ] {
        target.master.publish_raw(&bad.pack());
    }
    target.check_only_runs(&[])
}

#[test]
fn loads_that_make_no_sense_run_nothing() -> Result<()> {
    let mut target = Target::start(&[])?;
    for field in ["fun", "arg", "tgt", "jid"] {
        let load = without(&target.load("bad"), field);
        target.master.publish(&load)?;
    }
    for (field, value) in [
        ("tgt", Item::from("web2")),
        ("tgt", Item::from(5)),
        ("tgt_type", Item::from("no_such_matcher")),
        ("tgt_type", Item::List(vec![])),
        ("fun", Item::Nil),
        ("arg", Item::from(1)),
        ("jid", Item::List(vec![])),
    ] {
        let load = with(&target.load("bad"), field, Some(value));
        target.master.publish(&load)?;
    }
    target.check_only_runs(&[])
}

#[test]
fn a_job_id_leads_nowhere_outside() -> Result<()> {
    let mut target = Target::start(&[])?;
    for jid in ["../../../outside", "/tmp/outside", "..", "a\0b"] {
        let load = with(&target.load("any"), "jid", Some(Item::from(jid)));
        target.master.publish(&load)?;
    }
    let good = target.load("last");
    target.master.publish(&good)?;
    until("the good publication to run", START, || {
        Ok(fs::read_to_string(&target.written)
            .is_ok_and(|text| text.contains("last"))
            .then_some(()))
    })?;
    for entry in fs::read_dir(target.fleet.path())? {
        let name = entry?.file_name();
        ensure!(
            !name.to_string_lossy().contains("outside"),
            "{name:?} was made"
        );
    }
    ensure!(!target.fleet.path().join("web1/outside").exists());
    Ok(())
}

#[test]
fn what_came_once_does_not_run_again() -> Result<()> {
    let mut target = Target::start(&[])?;
    let load = target.load("once");
    let frame = target
        .master
        .publication(&target.master.seal(&load), None)?
        .pack();
    for _ in 0..5 {
        target.master.publish_raw(&frame);
    }
    // The same again under a new job id, but with a serial of the past.
    let stale = with(
        &with(&load, "jid", Some(Item::from("20261120120000009999"))),
        "serial",
        Some(Item::from(1)),
    );
    target.master.publish(&stale)?;
    // And under the same job id with a new serial.
    target.serial += 1;
    let again = with(&load, "serial", Some(Item::from(target.serial)));
    target.master.publish(&again)?;
    target.check_only_runs(&["once"])
}

#[test]
fn signatures_of_others_are_refused_where_they_are_wanted() -> Result<()> {
    let mut target = Target::start(&[("sign_pub_messages", true)])?;
    let other = PrivateKey::generate(2048)?;
    let load = target.load("bad");
    let sealed = target.master.seal(&load);
    let good = target.master.publication(&sealed, None)?;
    for bad in [
        target.master.publication(&sealed, Some(&other))?,
        without(&good, "sig"),
        with(&good, "sig", Some(Item::from(&[0_u8; 256][..]))),
        with(&good, "sig_algo", Some(Item::from("none"))),
    ] {
        target.master.publish_raw(&bad.pack());
    }
    target.check_only_runs(&[])
}

#[test]
fn a_flood_of_foreign_publications_leaves_no_trace() -> Result<()> {
    let mut target = Target::start(&[])?;
    target.check_only_runs(&[])?;
    let before = target.minion.own_memory_kib()?;
    let large = vec![0xc1; 256 * 1024];
    for _ in 0..200 {
        target.master.publish_raw(&large);
    }
    target.check_only_runs(&[])?;
    // What a burst has left is given back, but not at once.
    until("the memory of a flood to come back", START, || {
        let after = target.minion.own_memory_kib()?;
        Ok((after < before + GROWTH_MAX_KIB).then_some(()))
    })
}

/// Whoever signs it: nobody types that many, and each one is a process.
#[test]
fn a_job_of_too_many_functions_is_answered_and_not_run() -> Result<()> {
    const TOO_MANY: usize = 257;
    let mut target = Target::start(&[])?;
    let load = target.load("bad");
    let arg = load.get("arg").cloned().unwrap_or(Item::List(Vec::new()));
    let load = with(
        &with(
            &load,
            "fun",
            Some(Item::List(vec![Item::from("cmd.run"); TOO_MANY])),
        ),
        "arg",
        Some(Item::List(vec![arg; TOO_MANY])),
    );
    target.master.publish(&load)?;
    let jid = load.get("jid").cloned();
    target
        .master
        .wait_request("the return of the refused job", |sent| {
            sent.get("cmd").and_then(Item::text) == Some("_return")
                && sent.get("jid") == jid.as_ref()
                && sent.get("return").and_then(Item::text)
                    == Some("ERROR: a job has at most 256 functions")
        })?;
    target.check_only_runs(&[])
}
