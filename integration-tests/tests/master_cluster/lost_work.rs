//! A master of a cluster dies that drives a job in batches, or runs an orchestration.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{Event, EventLog, HAPROXY, Kind, START, until};
use halite_test_services::{Postgres, Redis, Wanted};
use halite_test_support::have_programs;
use serde_json::{Value, json};

use crate::cabled::{Cabled, MASTERS, PAIRS, RAN};

/// How soon another master goes on, or the end is told of.
const TAKEN_OVER: Duration = Duration::from_secs(5);

/// What a busy machine adds.
const BUSY: Duration = Duration::from_secs(5);

const MINIONS: usize = 4;

/// The master that drives or runs it.
const DRIVER: usize = 0;

/// Another one, whose event bus is listened to.
const OTHER: usize = 1;

fn start(on_bus: bool) -> Result<Option<Cabled>> {
    if !have_programs(&[HAPROXY]) {
        return Ok(None);
    }
    match on_bus {
        true => Cabled::on_bus(&minions()),
        false => Cabled::start(&minions()).map(Some),
    }
}

/// The same, with a store that the masters share.
fn start_on(store: &str) -> Result<Option<Cabled>> {
    if !have_programs(&[HAPROXY]) {
        return Ok(None);
    }
    Cabled::with(&minions(), &format!("store: {store}")).map(Some)
}

fn minions() -> Vec<(String, Kind)> {
    let ids = (1..=MINIONS).map(|n| format!("web{n}"));
    ids.map(|id| (id, Kind::Ours)).collect()
}

/// What a runner of a master returns.
fn run(cabled: &Cabled, n: usize, args: &[&str]) -> Result<Value> {
    let args = [args, &["--out=json"]].concat();
    let said = cabled.masters[n].tools(Kind::Ours).runner(&args)?.ok()?;
    serde_json::from_str(&said.stdout).with_context(|| said.stdout.clone())
}

/// What another master's event bus has said.
fn events(cabled: &Cabled) -> Result<&EventLog> {
    cabled.masters[OTHER].events()
}

/// A job in batches of two, whose minions wait at a gate.
struct Gated {
    jid: String,
    gate: PathBuf,
}

impl Gated {
    fn begin(cabled: &Cabled) -> Result<Self> {
        let gate = cabled.masters[DRIVER].dir().join("gate");
        let command = format!(
            "until [ -e {} ]; do sleep 0.05; done; echo batch >> ${RAN}; echo done",
            gate.display()
        );
        let args = ["--async", "-b", "2", "*", "cmd.run", &command];
        let said = cabled.masters[DRIVER].salt(&args)?.ok()?;
        let jid = said.stdout.trim().rsplit(' ').next().context("no id")?;
        let gated = Self {
            jid: jid.to_owned(),
            gate,
        };
        events(cabled)?.wait("the batch to begin", START, |event| {
            event.tag == gated.tag("new")
        })?;
        Ok(gated)
    }

    fn tag(&self, what: &str) -> String {
        format!("salt/batch/{}/{what}", self.jid)
    }

    fn wait_progress(&self, cabled: &Cabled, from: usize) -> Result<Event> {
        let tag = self.tag("progress");
        events(cabled)?.wait_after(from, "another master to go on", START, |event| {
            event.tag == tag
        })
    }

    /// Lets the minions end, and waits until all have, each once.
    fn end(&self, cabled: &Cabled) -> Result<()> {
        fs::write(&self.gate, "")?;
        let tag = self.tag("complete");
        let complete =
            events(cabled)?.wait("the batch to complete", START, |event| event.tag == tag)?;
        ensure!(
            complete.data["completed"] == MINIONS && complete.data["failed"] == 0,
            "{complete:?}"
        );
        self.check_ran_once(cabled)
    }

    fn check_ran_once(&self, cabled: &Cabled) -> Result<()> {
        for minion in &cabled.minions {
            let ran = fs::read_to_string(minion.dir().join("ran"))?;
            ensure!(ran == "batch\n", "{}: {ran:?}", minion.id());
        }
        Ok(())
    }
}

/// Waits until a master has these results of the batch.
fn wait_results(cabled: &Cabled, n: usize, gated: &Gated, all: &Value) -> Result<()> {
    until("the results of the batch", START, || {
        let found = run(cabled, n, &["jobs.lookup_jid", &gated.jid])?;
        Ok((found == *all).then_some(()))
    })
}

fn batch_goes_on(start: impl FnOnce() -> Result<Option<Cabled>>) -> Result<()> {
    let Some(mut cabled) = start()? else {
        return Ok(());
    };
    let gated = Gated::begin(&cabled)?;
    let from = events(&cabled)?.mark();
    let killed = Instant::now();
    cabled.masters[DRIVER].kill9()?;
    gated.wait_progress(&cabled, from)?;
    let took = killed.elapsed();
    ensure!(took < TAKEN_OVER + BUSY, "taken over after {took:?}");
    gated.end(&cabled)?;
    let all = (1..=MINIONS).map(|n| (format!("web{n}"), json!("done")));
    let all = Value::Object(all.collect());
    wait_results(&cabled, OTHER, &gated, &all)?;

    // The one that has begun it leaves it alone when it is back, and knows the end.
    let driver = &cabled.masters[DRIVER];
    let own = format!("cache/cluster/{}/batches", driver.address().ip());
    let noted = driver.dir().join(own).join(&gated.jid);
    ensure!(noted.exists(), "no {}", noted.display());
    cabled.masters[DRIVER].start()?;
    let own = cabled.masters[DRIVER].events()?;
    until("the batch to be left", START, || {
        Ok((!noted.exists()).then_some(()))
    })?;
    // What the others have told of it meanwhile has their names.
    let begun = |event: &Event| {
        let is_told = !event.data["__peer_id"].is_null();
        event.tag.starts_with(&gated.tag("")) && !is_told
    };
    ensure!(!own.events().iter().any(begun), "it was gone on with twice");
    ensure!(run(&cabled, DRIVER, &["batch.list_active"])? == json!([]));
    wait_results(&cabled, DRIVER, &gated, &all)?;
    gated.check_ran_once(&cabled)?;
    cabled.check_no_panic()
}

#[test]
fn a_batch_goes_on_at_another_master() -> Result<()> {
    batch_goes_on(|| start(false))
}

#[test]
fn a_batch_goes_on_at_another_master_on_a_bus() -> Result<()> {
    batch_goes_on(|| start(true))
}

#[test]
fn a_batch_goes_on_at_another_master_on_a_redis() -> Result<()> {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return Ok(());
    };
    batch_goes_on(|| start_on(&redis.url()))
}

#[test]
fn a_batch_goes_on_at_another_master_on_a_postgresql() -> Result<()> {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return Ok(());
    };
    batch_goes_on(|| start_on(&postgres.url("salt")))
}

/// Cuts the driver off from the others, or mends that.
fn set_apart(cabled: &Cabled, on_bus: bool, cable: Cable) {
    for (pair, (one, other)) in PAIRS.iter().enumerate() {
        match on_bus {
            true if pair == DRIVER => cabled.set_links(pair, cable),
            false if *one == DRIVER || *other == DRIVER => cabled.set_links(pair, cable),
            _ => {}
        }
    }
}

fn batch_is_left_after_a_cut(on_bus: bool) -> Result<()> {
    let Some(cabled) = start(on_bus)? else {
        return Ok(());
    };
    let gated = Gated::begin(&cabled)?;
    let from = events(&cabled)?.mark();
    set_apart(&cabled, on_bus, Cable::Cut);
    gated.wait_progress(&cabled, from)?;
    set_apart(&cabled, on_bus, Cable::Whole);
    until("one master to drive it", START, || {
        let active = (0..MASTERS).map(|n| run(&cabled, n, &["batch.list_active"]));
        let active = active.collect::<Result<Vec<_>>>()?;
        let others = active.iter().enumerate().all(|(n, active)| {
            let count = active.as_array().map_or(0, Vec::len);
            count == usize::from(n == DRIVER)
        });
        Ok(others.then_some(()))
    })?;
    gated.end(&cabled)?;
    cabled.check_no_panic()
}

#[test]
fn of_two_masters_that_drive_a_batch_one_leaves_it() -> Result<()> {
    batch_is_left_after_a_cut(false)
}

#[test]
fn of_two_masters_that_drive_a_batch_one_leaves_it_on_a_bus() -> Result<()> {
    batch_is_left_after_a_cut(true)
}

const ORCHESTRATION: &str = "\
wait:
  salt.runner:
    - name: test.sleep
    - s_time: 600
";

fn orchestration_ends_with_a_word(on_bus: bool) -> Result<()> {
    let Some(mut cabled) = start(on_bus)? else {
        return Ok(());
    };
    let srv = cabled.masters[DRIVER].dir().join("srv");
    fs::create_dir_all(&srv)?;
    fs::write(srv.join("up.sls"), ORCHESTRATION)?;
    let tools = cabled.masters[DRIVER].tools(Kind::Ours);
    tools
        .runner(&["--async", "state.orchestrate", "up"])?
        .ok()?;
    let begun = |fun: &str| {
        events(&cabled)?.wait(fun, START, |event| {
            event.tag.starts_with("salt/run/")
                && event.tag.ends_with("/new")
                && event.data["fun"] == fun
        })
    };
    let begun = [
        begun("runner.state.orchestrate")?,
        begun("runner.test.sleep")?,
    ];
    let killed = Instant::now();
    cabled.masters[DRIVER].kill9()?;
    for begun in &begun {
        let jid = begun.data["jid"].as_str().context("no id")?;
        let tag = format!("salt/run/{jid}/ret");
        let ended = events(&cabled)?.wait("its end", START, |event| event.tag == tag)?;
        let took = killed.elapsed();
        ensure!(took < TAKEN_OVER + BUSY, "told after {took:?}");
        ensure!(ended.data["success"] == false && ended.data["retcode"] == 1);
        let said = ended.data["return"].as_str().unwrap_or_default();
        ensure!(said.contains("that ran it cannot be reached"), "{ended:?}");
    }
    // What a runner within another one returns is not kept.
    let jid = begun[0].data["jid"].as_str().context("no id")?;
    let kept = |cabled: &Cabled, n: usize| run(cabled, n, &["jobs.lookup_jid", jid]);
    for n in [OTHER, 2] {
        until("its end in the job cache", START, || {
            let found = kept(&cabled, n)?.to_string();
            Ok(found
                .contains("that ran it cannot be reached")
                .then_some(()))
        })?;
    }
    cabled.masters[DRIVER].start()?;
    until("its end at the master that ran it", START, || {
        let found = kept(&cabled, DRIVER)?.to_string();
        Ok(found.contains("it is not started again").then_some(()))
    })?;
    cabled.wait_of_one_mind()?;
    let tag = format!("salt/run/{jid}/ret");
    let told = events(&cabled)?.events().into_iter();
    let told = told.filter(|event| event.tag == tag).count();
    ensure!(told == 1, "its end was told {told} times");
    cabled.check_no_panic()
}

#[test]
fn an_orchestration_of_a_master_that_dies_ends_with_a_word() -> Result<()> {
    orchestration_ends_with_a_word(false)
}

#[test]
fn an_orchestration_of_a_master_that_dies_ends_with_a_word_on_a_bus() -> Result<()> {
    orchestration_ends_with_a_word(true)
}
