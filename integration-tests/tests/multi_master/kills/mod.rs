//! States are killed at random moments of their run. Every file that they write
//! must be the old or the new one, a secret must never be open to others, and the
//! next run must succeed and leave nothing behind.
//!
//! `HALITE_KILLS_SEED` repeats a run's choices, `HALITE_KILLS_MOMENTS` says how
//! many there are; the events are written to `HALITE_KILLS_LEDGER`.

mod tree;
mod view;

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use halite_integration_tests::{Daemon, Program, SHORT, Signal, until};
use serde_json::{Value, json};

use self::tree::Tree;
use self::view::View;
use crate::support::{Several, wait_stored};
use halite_integration_tests::chaos::Dice;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How a run ends too early.
#[derive(Clone, Copy, Debug)]
enum End {
    /// `kill -9` of the program and all that it started.
    Family,
    /// `kill -9` of the program alone.
    Alone,
    /// As a service manager stops it.
    Term,
}

const ENDS: [End; 4] = [End::Family, End::Alone, End::Family, End::Term];

#[test]
fn states_of_a_killed_minion_converge() -> Result<()> {
    let moments = setting("HALITE_KILLS_MOMENTS", 12);
    run_with_ledger(Kills::new(moments)?, Kills::of_the_minion)
}

#[test]
fn states_of_a_killed_salt_call_converge() -> Result<()> {
    // Without daemons around it a moment costs less.
    let moments = setting("HALITE_KILLS_MOMENTS", 12);
    run_with_ledger(Kills::new(moments)?, Kills::of_salt_call)
}

fn run_with_ledger(mut kills: Kills, run: fn(&mut Kills) -> Result<()>) -> Result<()> {
    let outcome = run(&mut kills);
    #[allow(clippy::print_stdout, reason = "the ledger is what one wants to see")]
    {
        println!("{}", kills.ledger);
        // Before the logs, which may be cut off where this is read.
        if let Err(error) = &outcome {
            println!("{error:#}");
        }
    }
    if let Some(path) = std::env::var_os("HALITE_KILLS_LEDGER") {
        fs::write(path, &kills.ledger)?;
    }
    outcome
}

struct Kills {
    tree: Tree,
    several: Several,
    dice: Dice,
    moments: u64,
    version: u64,
    ledger: String,
}

impl Kills {
    fn new(moments: u64) -> Result<Self> {
        let seed = setting("HALITE_KILLS_SEED", 7);
        // Two that are not killed come first.
        let tree = Tree::new(moments + 2)?;
        let roots = json!({ "base": [tree.roots()] });
        let mut several =
            Several::without_minions(1, |plan| plan.set("file_roots", roots.clone()))?;
        let search = tree.search();
        let hosts = tree.target().join("hosts");
        several.add_minions(1, |plan| {
            plan.env("PATH", &search)
                .set("hosts.file", hosts.display().to_string())
                .set("file_roots", roots.clone())
                .set("mine_enabled", false)
        })?;
        several.masters[0].wait_minion("web1")?;
        Ok(Self {
            tree,
            several,
            dice: Dice(seed),
            moments,
            version: 0,
            ledger: format!("seed {seed}, {moments} moments\n"),
        })
    }

    /// The states that `salt` asks the minion for.
    fn of_the_minion(&mut self) -> Result<()> {
        let apply = |kills: &Self| {
            let pillar = kills.pillar();
            let args = ["web1", "state.apply", "tree", &pillar];
            let mut returns = kills.several.masters[0].returns(&args)?;
            returns.remove("web1").context("no answer")
        };
        let lasts = self.settle(&apply)?;
        for _ in 0..self.moments {
            let before = View::of(&self.tree)?;
            self.version += 1;
            let watch = Watch::start(self.tree.secret());
            let (jid, how, after) = self.end_minion(lasts)?;
            let cut = View::of(&self.tree)?;
            self.several.minions[0].start()?;
            self.several.masters[0].wait_minion("web1")?;
            // Whatever became of it, the master is told.
            let told = wait_stored(&self.several.masters[0], &jid, "web1")?;
            let told = match told.as_str() {
                Some(text) => text.to_owned(),
                None => "it had ended".to_owned(),
            };
            self.converge(
                &apply,
                (&before, &cut),
                &format!("{how:?} after {after:?}: {told}"),
            )?;
            watch.end()?;
        }
        Ok(())
    }

    fn end_minion(&mut self, lasts: Duration) -> Result<(String, End, Duration)> {
        let pillar = self.pillar();
        let how = ENDS[self.dice.below(ENDS.len())];
        let after = self.moment(lasts);
        let args = ["--async", "web1", "state.apply", "tree", &pillar];
        let output = self.several.masters[0].salt(&args)?.ok()?;
        let jid = output.stdout.trim().rsplit(' ').next().unwrap_or_default();
        let minion = &mut self.several.minions[0];
        let proc_file = minion.dir().join("cache/proc").join(jid);
        // It may be over before we look.
        let seen = until("the job", Duration::from_secs(2), || {
            Ok(proc_file.exists().then_some(()))
        });
        drop(seen);
        std::thread::sleep(after);
        end(minion.daemon(), how)?;
        Ok((jid.to_owned(), how, after))
    }

    /// The states of `salt-call --local`, with a minion that is not there.
    fn of_salt_call(&mut self) -> Result<()> {
        self.several.minions[0].stop()?;
        let apply = |kills: &Self| {
            let pillar = kills.pillar();
            let args = ["--local", "state.apply", "tree", &pillar];
            kills.several.minions[0].called(&args)
        };
        let lasts = self.settle(&apply)?;
        let minion = &self.several.minions[0];
        let log = minion.dir().join("call.out");
        for _ in 0..self.moments {
            let before = View::of(&self.tree)?;
            self.version += 1;
            let watch = Watch::start(self.tree.secret());
            let how = ENDS[self.dice.below(ENDS.len())];
            let after = self.moment(lasts);
            let pillar = self.pillar();
            let recipe = self.several.minions[0].recipe(Program::Call)?;
            let recipe = recipe.args(&["--local", "state.apply", "tree", &pillar]);
            let mut call = Daemon::new(recipe, log.clone());
            call.start()?;
            std::thread::sleep(after);
            if call.is_running() {
                end(&mut call, how)?;
            }
            let cut = View::of(&self.tree)?;
            self.converge(&apply, (&before, &cut), &format!("{how:?} after {after:?}"))?;
            watch.end()?;
        }
        Ok(())
    }

    fn pillar(&self) -> String {
        format!("pillar={{'version': {}}}", self.version)
    }

    fn moment(&mut self, lasts: Duration) -> Duration {
        let micros = usize::try_from(lasts.as_micros()).unwrap_or(usize::MAX);
        let micros = self.dice.below(micros.max(1));
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Two versions without a kill; how long the second takes.
    fn settle(&mut self, apply: &dyn Fn(&Self) -> Result<Value>) -> Result<Duration> {
        self.version += 1;
        check(&apply(self)?, Changes::May)?;
        self.version += 1;
        let begun = Instant::now();
        check(&apply(self)?, Changes::May)?;
        let lasts = begun.elapsed();
        check(&apply(self)?, Changes::None)?;
        Ok(lasts)
    }

    fn converge(
        &mut self,
        apply: &dyn Fn(&Self) -> Result<Value>,
        (before, cut): (&View, &View),
        what: &str,
    ) -> Result<()> {
        let version = self.version;
        writeln!(self.ledger, "version {version}: {what}")?;
        let says = || format!("version {version}, {what}");
        check(&apply(self)?, Changes::May).with_context(says)?;
        let after = View::of(&self.tree)?;
        check(&apply(self)?, Changes::None).with_context(says)?;
        after.check_whole(version, &self.tree).with_context(says)?;
        self.tree.check_git(version).with_context(says)?;
        cut.check_between(before, &after, &self.tree)
            .with_context(says)?;
        let left: Vec<PathBuf> = [self.tree.target(), self.several.minions[0].dir().to_owned()]
            .iter()
            .flat_map(|dir| view::remnants(dir))
            .collect();
        ensure!(left.is_empty(), "{}: left behind: {left:?}", says());
        Ok(())
    }
}

fn end(daemon: &mut Daemon, how: End) -> Result<()> {
    match how {
        End::Family => daemon.kill9(),
        End::Alone => {
            daemon.signal(Signal::SIGKILL)?;
            // Its children end on their own or with it.
            until("the end of what it started", SHORT, || {
                Ok((!daemon.is_running()).then_some(()))
            })
        }
        End::Term => {
            daemon.signal(Signal::SIGTERM)?;
            daemon.wait_exit(SHORT).map(drop)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Changes {
    May,
    None,
}

fn check(states: &Value, changes: Changes) -> Result<()> {
    let Some(states) = states.as_object() else {
        bail!("no states: {states}");
    };
    for (tag, state) in states {
        ensure!(state["result"] == true, "{tag}: {state:#}");
        let none = state["changes"]
            .as_object()
            .is_some_and(|map| map.is_empty());
        // What has no state of its own has no changes either.
        ensure!(
            changes == Changes::May || none,
            "{tag} has changes again: {state:#}"
        );
    }
    Ok(())
}

/// Looks at the secret as often as it can.
struct Watch {
    over: Arc<AtomicBool>,
    watcher: std::thread::JoinHandle<Option<u32>>,
}

impl Watch {
    fn start(path: PathBuf) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let watcher = std::thread::spawn({
            let over = Arc::clone(&over);
            move || {
                while !over.load(Ordering::Relaxed) {
                    if let Some(mode) = open_secret(&path) {
                        return Some(mode);
                    }
                    std::thread::sleep(Duration::from_micros(300));
                }
                None
            }
        });
        Self { over, watcher }
    }

    fn end(self) -> Result<()> {
        self.over.store(true, Ordering::Relaxed);
        match self.watcher.join() {
            Ok(None) => Ok(()),
            Ok(Some(mode)) => bail!("the secret was to be read by others: {mode:o}"),
            Err(_) => bail!("nobody watched"),
        }
    }
}

/// The mode of a file that holds a secret and is open to others.
fn open_secret(path: &Path) -> Option<u32> {
    let mut file = fs::File::open(path).ok()?;
    let mode = file.metadata().ok()?.permissions().mode();
    let mut begin = [0; 6];
    file.read_exact(&mut begin).ok()?;
    (begin == *b"secret" && mode & 0o077 != 0).then_some(mode)
}
