//! What is done once with a lease on a bus or a store: never by two masters, and by
//! none without the bus or store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{Kind, MasterPlan, SHORT, START, until};
use halite_test_services::{Postgres, Redis, Server, Wanted};
use serde_json::{Value, json};

use crate::isolated_cluster::{IsolatedCluster, SharedStore};
use crate::ticks::{BUSY, TICK_EVERY, gap, is_tick, ticks};

/// As documented: within so long after a cut another master begins.
const TAKEN_OVER: Duration = Duration::from_millis(4500);

/// How long a master that is stopped may take to end these tasks: it hands its minions over
/// before.
const STOPPED: Duration = Duration::from_secs(2);

/// Writes its process into one file and, if the process in another one lives, into a
/// third.
const ENGINE: &str = "\
import os, time

def start(mark, other, both):
    if os.path.exists(other) and os.path.exists('/proc/' + open(other).read()):
        open(both, 'w').write('both')
    with open(mark + '.new', 'w') as out:
        out.write(str(os.getpid()))
    os.rename(mark + '.new', mark)
    while True:
        time.sleep(60)
";

/// Two masters with a job each second and an engine.
struct Leased {
    cluster: IsolatedCluster,
}

impl Leased {
    fn start_on_bus() -> Result<Option<Self>> {
        let cluster = IsolatedCluster::lay_on_cabled_bus(2, with_schedule)?;
        cluster.map(Self::start).transpose()
    }

    fn start_on_store(store: SharedStore) -> Result<Self> {
        Self::start(IsolatedCluster::lay_on_cabled_store(
            2,
            store,
            with_schedule,
        )?)
    }

    fn start(mut cluster: IsolatedCluster) -> Result<Self> {
        let dir = cluster.fleet.path().join("engines");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("clockwork.py"), ENGINE)?;
        for n in 0..2 {
            let engine = json!({"clockwork": {
                "mark": mark(cluster.fleet.path(), n),
                "other": mark(cluster.fleet.path(), 1 - n),
                "both": cluster.fleet.path().join("both"),
            }});
            let text = json!({"engines_dirs": [dir], "engines": [engine]});
            let conf = cluster.masters[n].dir().join("master.d/engines.conf");
            fs::write(conf, text.to_string())?;
        }
        cluster.start(2)?;
        Ok(Self { cluster })
    }

    /// The bus or the store.
    fn arbiter(&self) -> Result<&Server> {
        let bus = self.cluster.bus.as_ref().map(|bus| &bus.server);
        let store = self.cluster.store.as_ref().map(SharedStore::server);
        bus.or(store).context("neither a bus nor a store")
    }

    fn status(&self, n: usize) -> Result<Value> {
        let tools = self.cluster.masters[n].tools(Kind::Ours);
        let shown = tools.runner(&["cluster.status", "--out=json"])?.ok()?;
        Ok(serde_json::from_str(&shown.stdout)?)
    }

    /// Waits until a master is the one, or sees who is.
    fn wait_first(&self, at: usize, first: &str, runs: bool) -> Result<()> {
        let what = format!("m{} to see that {first:?} is the first", at + 1);
        until(&what, START, || {
            let status = self.status(at)?;
            let is_so = status["first"] == first && status["runs_schedule"] == runs;
            ensure!(status["exclusive"] == true, "{status}");
            Ok(is_so.then_some(()))
        })
    }

    /// Which of them holds the lease.
    fn holder(&self) -> Result<usize> {
        until("a master to hold the lease", START, || {
            let holds = |n: &usize| self.status(*n).is_ok_and(|of| of["runs_schedule"] == true);
            Ok((0..2).find(holds))
        })
    }

    /// When a master has begun its job each time, as far as its own bus tells: what it
    /// says of the end may wait for a store that is silent.
    fn ticks(&self, n: usize) -> Result<Vec<String>> {
        let events = self.cluster.masters[n].events()?.events();
        ticks(&events, &self.cluster.ip(n))
    }

    fn wait_tick(&self, n: usize) -> Result<()> {
        let own = self.cluster.ip(n);
        let events = self.cluster.masters[n].events()?;
        let from = events.mark();
        events.wait_after(from, "a job of its own", SHORT, |event| {
            is_tick(event, &own)
        })?;
        Ok(())
    }

    fn engine(&self, n: usize) -> Result<String> {
        until("the engine to run", START, || {
            Ok(fs::read_to_string(mark(self.cluster.fleet.path(), n)).ok())
        })
    }
}

fn with_schedule(plan: MasterPlan<'_>) -> MasterPlan<'_> {
    let tick = json!({"tick": {"function": "test.sleep", "args": [0], "seconds": 1}});
    plan.set("schedule", tick)
}

fn mark(place: &Path, n: usize) -> PathBuf {
    place.join(format!("mark{n}"))
}

#[test]
fn no_two_do_what_is_done_once_whoever_is_cut_off_from_the_bus() -> Result<()> {
    let Some(leased) = Leased::start_on_bus()? else {
        return Ok(());
    };
    check_once(leased, "the bus of the cluster")
}

#[test]
fn no_two_do_what_is_done_once_whoever_is_cut_off_from_a_redis() -> Result<()> {
    let Some(redis) = Redis::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let leased = Leased::start_on_store(SharedStore::Redis(redis))?;
    check_once(leased, "the store of the masters")
}

#[test]
fn no_two_do_what_is_done_once_whoever_is_cut_off_from_a_postgresql() -> Result<()> {
    let Some(postgres) = Postgres::for_test(&Wanted::default()) else {
        return Ok(());
    };
    let leased = Leased::start_on_store(SharedStore::Postgres(postgres))?;
    check_once(leased, "the store of the masters")
}

fn check_once(mut leased: Leased, arbiter: &str) -> Result<()> {
    let holder = leased.holder()?;
    let other = 1 - holder;
    let ids = [0, 1].map(|n| leased.cluster.ip(n));
    leased.wait_first(other, &ids[holder], false)?;
    leased.wait_tick(holder)?;
    let process = Path::new("/proc").join(leased.engine(holder)?);
    // The holder no more hears of it, nor that it does not.
    leased.cluster.cables[holder].set(Cable::Nowhere);
    leased.wait_tick(other)?;
    leased.engine(other)?;
    ensure!(!process.exists(), "the engine of the first holder lives");
    ensure!(
        !leased.cluster.fleet.path().join("both").exists(),
        "two engines"
    );
    leased.wait_first(holder, "", false)?;
    let (before, after) = (leased.ticks(holder)?, leased.ticks(other)?);
    let (last, first) = (
        before.last().context("none")?,
        after.first().context("none")?,
    );
    ensure!(last < first, "{last} at the one and {first} at the other");
    let took = gap(&before, &after)?;
    ensure!(
        took < TAKEN_OVER + TICK_EVERY + BUSY,
        "taken over after {took:?}"
    );
    // It stays where it is when the first one is back.
    leased.cluster.cables[holder].set(Cable::Whole);
    leased.wait_first(holder, &ids[other], false)?;
    leased.wait_tick(other)?;
    // Without it nobody does it.
    leased.arbiter()?.kill();
    for n in 0..2 {
        leased.wait_first(n, "", false)?;
    }
    let rests = [leased.ticks(0)?.len(), leased.ticks(1)?.len()];
    let rests_until = format!("are paused until {arbiter} decides");
    for (n, before) in rests.into_iter().enumerate() {
        let log = leased.cluster.masters[n].dir().join("log");
        until("the log to say that it rests", SHORT, || {
            let log = fs::read_to_string(&log)?;
            Ok(log.contains(&rests_until).then_some(()))
        })?;
        let ticks = leased.ticks(n)?.len();
        ensure!(ticks == before, "m{} has run {ticks} jobs", n + 1);
        leased.wait_first(n, "", false)?;
    }
    leased.arbiter()?.start()?;
    let holder = leased.holder()?;
    leased.wait_tick(holder)?;
    // One that is stopped gives it up.
    leased.wait_first(1 - holder, &ids[holder], false)?;
    let (before, from) = (leased.ticks(holder)?, leased.ticks(1 - holder)?.len());
    leased.cluster.masters[holder].stop()?;
    leased.wait_tick(1 - holder)?;
    // A master that stops ends its tasks first, and goes on to serve for up to 4 s.
    let took = gap(&before, &leased.ticks(1 - holder)?[from..])?;
    ensure!(
        took < STOPPED + 2 * TICK_EVERY + BUSY,
        "taken over after {took:?}"
    );
    leased.wait_first(1 - holder, &ids[1 - holder], true)?;
    Ok(())
}
