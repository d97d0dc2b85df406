//! Masters and a fleet of emulated minions, from the first sign-in to the return after
//! a master's death.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Kind, Master, Output, Programs, until};

use super::masters::{Layout, Masters, processor_time};
use super::{overload, reactions, soak};

/// No step takes longer on a machine that is fit for it.
pub(super) const STEP_MAX: Duration = Duration::from_secs(300);

/// How long the idle fleet is looked at.
const IDLE: Duration = Duration::from_secs(10);

/// When everything that follows sign-ins is over, too.
const SETTLED_AFTER: Duration = Duration::from_secs(12);

/// Minions that send events, and how long they do.
pub(super) const SENDERS: u32 = 20;
pub(super) const EVENTS: Duration = Duration::from_secs(8);

/// Times that a command is given whose time is measured.
const TIMES: usize = 3;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Minions.
    pub(super) count: u32,
    /// Processes that they are spread over; `None`: as many as have descriptors for
    /// all.
    pub(super) processes: Option<u32>,
    pub(super) masters: u32,
    pub(super) layout: Layout,
    /// How many times more sign-ins are sent than are served.
    pub(super) overload: Option<f64>,
    /// How long the fleet is kept at work.
    pub(super) soak: Option<Duration>,
}

/// The figures of one fleet.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) count: u32,
    pub(super) figures: Vec<Figure>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) value: f64,
}

/// The masters and the minions of a plan.
pub(super) struct Scene<'s> {
    pub(super) fleet: &'s Fleet,
    pub(super) masters: Masters,
    pub(super) plan: Plan,
    emulators: Vec<Emulator>,
    figures: Vec<Figure>,
    show: &'s dyn Fn(&str, f64, &str),
}

/// Measures one fleet; `show` gets each figure as it comes.
pub(super) fn measure(
    programs: &Programs,
    plan: Plan,
    show: impl Fn(&str, f64, &str),
) -> Result<Measured> {
    let memory = Path::new("/dev/shm");
    let base = match memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    };
    let fleet = Fleet::quiet_in("scale", programs.clone(), &base)?;
    let masters = Masters::start(&fleet, plan.layout, plan.masters, plan.count)?;
    let mut scene = Scene {
        fleet: &fleet,
        masters,
        plan,
        emulators: Vec::new(),
        figures: Vec::new(),
        show: &show,
    };
    scene.run()?;
    Ok(Measured {
        count: plan.count,
        figures: scene.figures,
    })
}

impl Scene<'_> {
    fn run(&mut self) -> Result<()> {
        let empty_kib = self.masters.own_kib()?;
        self.come()?;
        std::thread::sleep(SETTLED_AFTER);
        self.look_at_idle(&empty_kib)?;
        self.command()?;
        self.take_events()?;
        reactions::react(self)?;
        if let Some(times) = self.plan.overload {
            overload::overload(self, times)?;
        }
        if let Some(time) = self.plan.soak {
            soak::soak(self, time)?;
        }
        self.come_back()?;
        for emulator in self.emulators.drain(..) {
            emulator.stop()?;
        }
        Ok(())
    }

    /// All sign in for the first time.
    fn come(&mut self) -> Result<()> {
        let begun = (Instant::now(), self.masters.cpu()?);
        let count = self.plan.count;
        let processes = match self.plan.processes {
            Some(processes) => processes.max(1),
            None => enough_processes(count, self.masters.links())?,
        };
        let each = count.div_ceil(processes);
        for process in 0..processes {
            let first = (process * each).min(count);
            let part = (first, each.min(count - first));
            let list = self.masters.list(process as usize);
            let emulator = Emulator::start_at(self.fleet, &list, part, &[])?;
            self.emulators.push(emulator);
        }
        self.wait_ready()?;
        let seconds = begun.0.elapsed().as_secs_f64();
        self.note("new fleet: all are ready after", "s", seconds);
        let cpu = self.masters.cpu()? - begun.1;
        self.note(
            "new fleet: processor time of the masters per minion",
            "ms",
            cpu * 1e3 / f64::from(count),
        );
        Ok(())
    }

    fn look_at_idle(&mut self, empty_kib: &[f64]) -> Result<()> {
        let all = self.masters.own_kib()?;
        let most = all.iter().copied().fold(0.0, f64::max);
        self.note("idle: own memory of a master", "MiB", most / 1024.0);
        let grown = all.iter().sum::<f64>() - empty_kib.iter().sum::<f64>();
        let each = grown / f64::from(self.plan.count * self.masters.links());
        self.note("idle: memory of a connected minion", "KiB", each);
        let descriptors = self.masters.descriptors()?;
        self.note("idle: descriptors of a master", "", descriptors as f64);
        let begun = (Instant::now(), self.masters.cpu()?);
        std::thread::sleep(IDLE);
        let share = (self.masters.cpu()? - begun.1) / begun.0.elapsed().as_secs_f64();
        self.note(
            "idle: processor of the masters",
            "% of a core",
            share * 100.0,
        );
        Ok(())
    }

    fn command(&mut self) -> Result<()> {
        let all = self.plan.count as usize;
        let ping = ["*", "test.ping", "--out=txt", "-t", "120"];
        self.timed("salt '*' test.ping", TIMES, &ping, Some(all))?;
        self.timed(
            "salt --summary '*'",
            1,
            &["--summary", "*", "test.ping", "--out=txt", "-t", "120"],
            None,
        )?;
        let ten = ["emu0000*", "test.ping", "--out=txt", "-t", "60"];
        self.timed("a target of ten", TIMES, &ten, Some(all.min(10)))?;
        let states = ["*", "state.apply", "--out=quiet", "-t", "120"];
        self.timed("state runs of 20 kB by all at once", 1, &states, None)?;
        let pillar = ["*", "pillar.items", "--out=txt", "-t", "120"];
        self.timed("pillar for all", 1, &pillar, Some(all))?;
        let file = [
            "*",
            "cp.cache_file",
            "salt://probe.txt",
            "--out=txt",
            "-t",
            "120",
        ];
        self.timed("a file of 10 kB for all", 1, &file, Some(all))?;
        let batch = ["-b", "10%", "*", "test.ping", "--out=txt", "-t", "120"];
        self.timed("salt -b 10% '*' test.ping", 1, &batch, None)?;
        Ok(())
    }

    /// A command's time, the median, and what it costs the master.
    fn timed(
        &mut self,
        name: &'static str,
        times: usize,
        args: &[&str],
        answers: Option<usize>,
    ) -> Result<()> {
        let mut took = Vec::new();
        let cpu = self.masters.cpu()?;
        for _ in 0..times {
            let begun = Instant::now();
            let output = self.masters.all[0].salt(args)?.ok()?;
            took.push(begun.elapsed().as_secs_f64());
            let lines = lines_of_minions(&output);
            ensure!(
                answers.is_none_or(|answers| answers == lines),
                "{name}: {lines} lines of answers: {}",
                output.stderr
            );
        }
        took.sort_by(f64::total_cmp);
        self.note(name, "s", took[took.len() / 2]);
        let cpu = (self.masters.cpu()? - cpu) / took.len() as f64;
        self.note(name, "s of the masters' processor", cpu);
        Ok(())
    }

    /// A thousand events a second, from a few minions.
    fn take_events(&mut self) -> Result<()> {
        let first = self.plan.count;
        let args = ["--prefix", "sender", "--events", "1000"];
        let list = self.masters.list(0);
        let senders = Emulator::start_at(self.fleet, &list, (first, SENDERS), &args)?;
        senders.wait("events flow", STEP_MAX, |state| {
            state["events"].as_u64() > Some(0)
        })?;
        let begun = (Instant::now(), self.masters.cpu()?);
        let until =
            |state: &serde_json::Value| state["events"].as_u64() >= Some(1000 * EVENTS.as_secs());
        let state = senders.wait("the events are taken", STEP_MAX, until)?;
        let seconds = begun.0.elapsed().as_secs_f64();
        let share = (self.masters.cpu()? - begun.1) / seconds;
        self.note(
            "1000 events/s: processor of the masters",
            "% of a core",
            share * 100.0,
        );
        let p99 = state["event_times"]["p99_ms"].as_f64().unwrap_or(f64::NAN);
        self.note("1000 events/s: 99 % are taken within", "ms", p99);
        ensure!(state["events_failed"] == 0, "events have failed: {state}");
        senders.stop()
    }

    /// The first master dies. It starts again where its minions have no other one, and
    /// nobody's command fails after.
    fn come_back(&mut self) -> Result<()> {
        let all = self.links();
        let others_cpu = self.masters.cpu()? - self.first_cpu()?;
        let lost = self.lost();
        let killed = Instant::now();
        self.masters.all[0].kill9()?;
        // Where another master takes them, they may be back before anybody looks.
        until("the minions see their loss", STEP_MAX, || {
            Ok((self.lost() > lost).then_some(()))
        })?;
        if !self.masters.take_over() {
            let staying = all - u64::from(self.plan.count);
            until("all minions see their loss", STEP_MAX, || {
                Ok((self.ready() <= staying).then_some(()))
            })?;
        }
        let (begun, asked_at) = match self.masters.take_over() {
            true => (killed, 1),
            false => {
                let begun = Instant::now();
                self.masters.all[0].start_on_ports()?;
                (begun, 0)
            }
        };
        let mut asked = Vec::new();
        while asked.is_empty() || self.ready() < all {
            ensure!(begun.elapsed() < STEP_MAX, "{} are back", self.ready());
            let asks = Instant::now();
            self.masters.all[asked_at].tools(Kind::Ours).runner(&[
                "test.arg",
                "1",
                "--out=quiet",
            ])?;
            asked.push(asks.elapsed().as_secs_f64() * 1e3);
        }
        self.note(
            "returning fleet: all are back after",
            "s",
            begun.elapsed().as_secs_f64(),
        );
        let cpu = (self.masters.cpu()? - others_cpu) * 1e3 / f64::from(self.plan.count);
        self.note(
            "returning fleet: processor time of the masters per minion",
            "ms",
            cpu,
        );
        self.note(
            "returning fleet: `salt-run test.arg` meanwhile, 99 % within",
            "ms",
            percentile_99(asked),
        );
        let ping = ["emu*", "test.ping", "--out=txt", "-t", "120"];
        let output = self.masters.all[asked_at].salt(&ping)?.ok()?;
        let answers = lines_of_minions(&output);
        ensure!(
            answers == self.plan.count as usize,
            "{answers} answer after the return"
        );
        Ok(())
    }

    /// Processor time of the first master so far, in seconds.
    fn first_cpu(&mut self) -> Result<f64> {
        processor_time(self.masters.all[0].daemon().pid()?)
    }

    fn wait_ready(&mut self) -> Result<()> {
        let count = self.links();
        let waited = until("all are ready", STEP_MAX, || {
            // One may refuse a number that it has no descriptors for.
            for emulator in &mut self.emulators {
                emulator.check_runs()?;
            }
            Ok((self.ready() == count).then_some(()))
        });
        waited.with_context(|| format!("{} of {count} are", self.ready()))
    }

    /// Links that are ready.
    pub(super) fn ready(&self) -> u64 {
        self.sum_of("ready")
    }

    /// How often one was lost.
    fn lost(&self) -> u64 {
        self.sum_of("lost")
    }

    fn sum_of(&self, counter: &str) -> u64 {
        let states = self.emulators.iter().filter_map(Emulator::state);
        states.filter_map(|state| state[counter].as_u64()).sum()
    }

    /// Links of all minions.
    pub(super) fn links(&self) -> u64 {
        u64::from(self.plan.count) * u64::from(self.masters.links())
    }

    pub(super) fn note(&mut self, name: &'static str, unit: &'static str, value: f64) {
        (self.show)(name, value, unit);
        self.figures.push(Figure { name, unit, value });
    }
}

/// How long `salt-run test.arg` takes at a master, in milliseconds.
pub(super) fn time_of_runner(master: &Master) -> Result<f64> {
    let begun = Instant::now();
    let tools = master.tools(Kind::Ours);
    tools.runner(&["test.arg", "1", "--out=quiet"])?.ok()?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// What 99 of 100 values are not above; no number if there are none.
pub(super) fn percentile_99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() * 99).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or(f64::NAN)
}

/// Lines that are a minion's answer.
pub(super) fn lines_of_minions(output: &Output) -> usize {
    let lines = output.lines().into_iter();
    lines.filter(|line| line.starts_with("emu")).count()
}

/// Processes that have descriptors for so many minions with so many links, each with as
/// many as this one may have.
fn enough_processes(minions: u32, links: u32) -> Result<u32> {
    // What `salt-emulate` asks for: five of a link, two of a minion, and some more.
    const KEPT: u32 = 64;
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let hard = line.and_then(|line| line.split_ascii_whitespace().nth(4));
    let hard: u32 = hard.and_then(|hard| hard.parse().ok()).unwrap_or(u32::MAX);
    let each = hard.saturating_sub(KEPT) / (2 + 5 * links);
    ensure!(each > 0, "{hard} open files are not enough for one minion");
    Ok(minions.div_ceil(each).max(1))
}
