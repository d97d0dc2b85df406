//! What is done once where a bus says by whom: at no time by two masters, and by none
//! without the bus.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::proxy::Cable;
use halite_integration_tests::{Event, Kind, SHORT, START, until};
use serde_json::{Value, json};

use crate::isolated::IsolatedCluster;

const TICK: &str = "__schedule_return";

/// Taken over after a cut, a death or a stop; and what a busy machine adds.
const TAKEN_OVER: Duration = Duration::from_secs(5);
const BUSY: Duration = Duration::from_secs(5);

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
    fn start() -> Result<Option<Self>> {
        let cluster = IsolatedCluster::lay_on_cabled_bus(2, |plan| {
            plan.set(
                "schedule",
                json!({"tick": {"function": "test.sleep", "args": [0], "seconds": 1}}),
            )
        })?;
        let Some(mut cluster) = cluster else {
            return Ok(None);
        };
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
        Ok(Some(Self { cluster }))
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

    /// When a master has run its job, as far as its own bus tells.
    fn ticks(&self, n: usize) -> Result<Vec<String>> {
        let own = self.cluster.ip(n);
        let events = self.cluster.masters[n].events()?.events();
        let ran = events.iter().filter(|event| is_tick(event, &own));
        let stamps = ran.map(|event| event.data["_stamp"].as_str().map(str::to_owned));
        stamps
            .collect::<Option<_>>()
            .context("an event without a stamp")
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

fn mark(place: &Path, n: usize) -> PathBuf {
    place.join(format!("mark{n}"))
}

fn is_tick(event: &Event, id: &str) -> bool {
    event.tag == TICK && event.data["id"] == id
}

#[test]
fn no_two_do_what_is_done_once_whoever_is_cut_off_from_the_bus() -> Result<()> {
    let Some(mut leased) = Leased::start()? else {
        return Ok(());
    };
    let holder = leased.holder()?;
    let other = 1 - holder;
    let ids = [0, 1].map(|n| leased.cluster.ip(n));
    leased.wait_first(other, &ids[holder], false)?;
    leased.wait_tick(holder)?;
    let process = Path::new("/proc").join(leased.engine(holder)?);
    // The holder no more hears of the bus, nor that it does not.
    leased.cluster.cables[holder].set(Cable::Nowhere);
    let cut = Instant::now();
    leased.wait_tick(other)?;
    let took = cut.elapsed();
    ensure!(took < TAKEN_OVER + BUSY, "taken over after {took:?}");
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
    // It stays where it is when the first one is back.
    leased.cluster.cables[holder].set(Cable::Whole);
    leased.wait_first(holder, &ids[other], false)?;
    leased.wait_tick(other)?;
    // Without the bus nobody does it.
    let engine = &leased.cluster.bus.as_ref().context("no bus")?.server;
    engine.kill();
    for n in 0..2 {
        leased.wait_first(n, "", false)?;
    }
    let rests = [leased.ticks(0)?.len(), leased.ticks(1)?.len()];
    for (n, before) in rests.into_iter().enumerate() {
        let log = leased.cluster.masters[n].dir().join("log");
        until("the log to say that it rests", SHORT, || {
            let log = fs::read_to_string(&log)?;
            let says = log.contains("rest until the bus of the cluster says");
            Ok(says.then_some(()))
        })?;
        let ticks = leased.ticks(n)?.len();
        ensure!(ticks == before, "m{} has run {ticks} jobs", n + 1);
        leased.wait_first(n, "", false)?;
    }
    engine.start()?;
    let holder = leased.holder()?;
    leased.wait_tick(holder)?;
    // One that is stopped gives it up.
    leased.wait_first(1 - holder, &ids[holder], false)?;
    let stopped = Instant::now();
    leased.cluster.masters[holder].stop()?;
    let stopping = stopped.elapsed();
    leased.wait_tick(1 - holder)?;
    let took = stopped.elapsed().saturating_sub(stopping);
    ensure!(
        took < Duration::from_secs(2) + BUSY,
        "taken over after {took:?}"
    );
    leased.wait_first(1 - holder, &ids[1 - holder], true)?;
    Ok(())
}
