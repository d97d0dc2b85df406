//! Masters with one key pair and their minions, and the outcome of a job.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::wire::msgpack::Item;
use halite_integration_tests::{
    Event, Fleet, Kind, Master, MasterPlan, Minion, MinionPlan, SHORT, START, until,
};
use serde_json::Value;

/// When a job of the schedule runs that runs only when it is told to.
pub(crate) const NEVER: &str = "2199-12-31 23:59:59";

/// Masters that share a key pair and accept every key, with minions of all.
pub(crate) struct Several {
    pub(crate) masters: Vec<Master>,
    pub(crate) minions: Vec<Minion>,
    pub(crate) fleet: Fleet,
}

/// A plan as it is.
pub(crate) fn plain(plan: MinionPlan<'_>) -> MinionPlan<'_> {
    plan
}

/// A plan as it is.
pub(crate) fn plain_master(plan: MasterPlan<'_>) -> MasterPlan<'_> {
    plan
}

impl Several {
    /// Starts them and waits until every minion is ready on every master.
    pub(crate) fn start(masters: usize, minions: usize) -> Result<Self> {
        Self::with(masters, minions, plain_master, plain)
    }

    pub(crate) fn with(
        masters: usize,
        minions: usize,
        change_master: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
        change_minion: impl for<'a> Fn(MinionPlan<'a>) -> MinionPlan<'a>,
    ) -> Result<Self> {
        let mut several = Self::without_minions(masters, change_master)?;
        several.add_minions(minions, change_minion)?;
        for master in &several.masters {
            for minion in &several.minions {
                master.wait_minion(minion.id())?;
            }
        }
        Ok(several)
    }

    pub(crate) fn without_minions(
        masters: usize,
        change_master: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Self> {
        let fleet = Fleet::new("mm")?;
        let mut running: Vec<Master> = Vec::new();
        for number in 1..=masters {
            let mut plan = change_master(fleet.master(&format!("m{number}"), Kind::Ours));
            plan = plan.auto_accept();
            if let Some(first) = running.first() {
                plan = plan.key_pair_of(first);
            }
            running.push(plan.start()?);
        }
        if let Some(first) = running.first() {
            look_at_pace(first)?;
        }
        Ok(Self {
            masters: running,
            minions: Vec::new(),
            fleet,
        })
    }

    /// Starts minions of all masters; they need not be ready.
    pub(crate) fn add_minions(
        &mut self,
        count: usize,
        change: impl for<'a> Fn(MinionPlan<'a>) -> MinionPlan<'a>,
    ) -> Result<()> {
        for number in 1..=count {
            let plan = self.fleet.minion(&format!("web{number}"), Kind::Ours);
            let plan = self.masters.iter().fold(plan, MinionPlan::of);
            self.minions.push(change(plan).start()?);
        }
        Ok(())
    }

    /// The first two masters and the first minion.
    pub(crate) fn two(&mut self) -> Result<(&mut Master, &mut Master, &mut Minion)> {
        match (self.masters.as_mut_slice(), self.minions.first_mut()) {
            ([first, second, ..], Some(minion)) => Ok((first, second, minion)),
            _ => bail!("not two masters and a minion"),
        }
    }

    /// A file of tokens, one line per run of a command.
    pub(crate) fn tokens(&self) -> Tokens {
        Tokens(self.fleet.path().join("tokens"))
    }
}

/// A file that commands append a line to.
#[derive(Clone)]
pub(crate) struct Tokens(pub(crate) PathBuf);

impl Tokens {
    /// The command that leaves `token` and prints it.
    pub(crate) fn command(&self, token: &str) -> String {
        format!("echo {token} >> {}; echo {token}", self.0.display())
    }

    /// How often each token was left.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for line in fs::read_to_string(&self.0).unwrap_or_default().lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }

    pub(crate) fn count(&self, token: &str) -> usize {
        self.counts().get(token).copied().unwrap_or_default()
    }

    /// Waits until a token is there.
    pub(crate) fn wait(&self, token: &str) -> Result<()> {
        until(&format!("the token {token}"), SHORT, || {
            Ok((self.count(token) > 0).then_some(()))
        })
    }
}

pub(crate) use halite_integration_tests::chaos::publish;

/// The return of a minion in a master's job cache.
pub(crate) fn stored(master: &Master, jid: &str, minion: &str) -> Result<Option<Value>> {
    let Some(dir) = job_dir(master.dir(), jid)? else {
        return Ok(None);
    };
    match fs::read(dir.join(minion).join("return.p")) {
        // The file is renamed into its place, so it is whole.
        Ok(bytes) => Ok(Some(Item::unpack(&bytes)?.to_json()["return"].clone())),
        Err(_) => Ok(None),
    }
}

fn job_dir(master: &Path, jid: &str) -> Result<Option<PathBuf>> {
    let jobs = master.join("cache/jobs");
    let Ok(firsts) = fs::read_dir(&jobs) else {
        return Ok(None);
    };
    for first in firsts.flatten() {
        for job in fs::read_dir(first.path())?.flatten() {
            if fs::read_to_string(job.path().join("jid")).is_ok_and(|text| text == jid) {
                return Ok(Some(job.path()));
            }
        }
    }
    Ok(None)
}

/// Waits until a master has the return of a job.
pub(crate) fn wait_stored(master: &Master, jid: &str, minion: &str) -> Result<Value> {
    let what = format!(
        "the return of {minion} from {jid} at {}",
        master.dir().display()
    );
    until(&what, SHORT, || stored(master, jid, minion))
}

/// How many returns of a job a master has told of on its bus.
pub(crate) fn count_return_events(master: &Master, jid: &str, minion: &str) -> Result<usize> {
    let tag = format!("salt/job/{jid}/ret/{minion}");
    let events = master.events()?.events();
    Ok(events.iter().filter(|event| event.tag == tag).count())
}

/// A master tells of a return once.
pub(crate) fn check_told_once(master: &Master, jid: &str, minion: &str) -> Result<()> {
    let tag = format!("salt/job/{jid}/ret/{minion}");
    // The file is there before the event is.
    master
        .events()?
        .wait(&tag, SHORT, |event| event.tag == tag)?;
    let told = count_return_events(master, jid, minion)?;
    ensure!(told == 1, "told {told} times of {jid}");
    Ok(())
}

/// How often a minion has said since the master's start that it is ready.
pub(crate) fn starts(master: &Master, minion: &str) -> Result<usize> {
    let tag = format!("salt/minion/{minion}/start");
    let events = master.events()?.events();
    Ok(events.iter().filter(|event| event.tag == tag).count())
}

/// How long `salt <minion> test.ping` takes, which must be answered.
pub(crate) fn ping_time(master: &Master, minion: &str) -> Result<Duration> {
    let begun = Instant::now();
    let returns = master.returns(&[minion, "test.ping"])?;
    ensure!(
        returns.get(minion) == Some(&Value::Bool(true)),
        "unexpected {returns:?}"
    );
    Ok(begun.elapsed())
}

/// What is promised of a quiet machine, and what this one adds at the moment:
/// starts of a program, which take some ten milliseconds where nothing else
/// runs. What was measured begins after the last look at that and ends before
/// this one: the slower of the two counts, or a burst that has passed would not. What
/// is added has a limit: a broken promise fails on the slowest machine, too.
pub(crate) fn allowed(master: &Master, promised: Duration) -> Result<Duration> {
    const FOR_EACH: u32 = 8;
    let before = PACE.get();
    let slower = look_at_pace(master)?.max(before);
    Ok(promised + (slower * FOR_EACH).min(ADDED_MAX))
}

/// The most that a slow machine adds to what is promised.
const ADDED_MAX: Duration = Duration::from_secs(6);

thread_local! {
    /// How long some starts of a program took when that was last looked at.
    static PACE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Looks how long some starts of a program take.
fn look_at_pace(master: &Master) -> Result<Duration> {
    const STARTS: u32 = 5;
    let begun = Instant::now();
    for _ in 0..STARTS {
        master.salt(&["--version"])?.ok()?;
    }
    let pace = begun.elapsed();
    PACE.set(pace);
    Ok(pace)
}

/// The moment of an event within its day.
pub(crate) fn moment(event: &Event) -> Result<Duration> {
    let stamp = event.data["_stamp"].as_str().unwrap_or_default();
    let time = stamp.split('T').nth(1).context("no time")?;
    let time = time.split(['+', 'Z']).next().unwrap_or(time);
    let mut seconds = 0.0;
    for part in time.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>()?;
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// From one moment of a day to a later one, which may be of the next day.
pub(crate) fn between(earlier: Duration, later: Duration) -> Duration {
    const DAY: Duration = Duration::from_secs(86_400);
    match later.checked_sub(earlier) {
        Some(time) => time,
        None => (later + DAY).saturating_sub(earlier),
    }
}

/// Waits until a minion has said for the `count`th time since the master's
/// start that it is ready.
pub(crate) fn wait_starts(master: &Master, minion: &str, count: usize) -> Result<()> {
    until(&format!("start {count} of {minion}"), START, || {
        Ok((starts(master, minion)? >= count).then_some(()))
    })
}

/// Waits until a minion answers a master.
pub(crate) fn wait_ping(master: &Master, minion: &str) -> Result<Duration> {
    let begun = Instant::now();
    until(&format!("{minion} to answer"), SHORT, || {
        Ok(ping_time(master, minion).ok())
    })?;
    Ok(begun.elapsed())
}

/// Waits until a daemon's log has a line with each of `parts`.
pub(crate) fn wait_log(dir: &Path, parts: &[&str]) -> Result<()> {
    until(
        &format!("{parts:?} in the log of {}", dir.display()),
        SHORT,
        || Ok(is_logged(dir, parts).then_some(())),
    )
}

/// Whether a daemon's log has a line with each of `parts`.
pub(crate) fn is_logged(dir: &Path, parts: &[&str]) -> bool {
    let text = fs::read(dir.join("log")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let found = |line: &str| parts.iter().all(|part| line.contains(part));
    text.lines().any(found)
}

/// Writes another `master:` list into a minion's file.
pub(crate) fn set_masters(minion: &Minion, masters: &[String]) -> Result<()> {
    let path = minion.dir().join("minion");
    let text = fs::read_to_string(&path)?;
    let line = format!("master: {}", serde_json::to_string(masters)?);
    let lines = text.lines().map(|old| match old.starts_with("master:") {
        true => line.as_str(),
        false => old,
    });
    let text: Vec<&str> = lines.collect();
    fs::write(&path, text.join("\n") + "\n").context("could not write the minion's file")
}
