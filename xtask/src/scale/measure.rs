//! Masters and a fleet of emulated minions, from the first sign-in to the return after
//! a master's death.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Output, Programs, until};

use super::commands::note_traffic;
use super::masters::{Layout, Masters};
use super::names::{DESCRIPTORS, IDLE, JOINED, JOINED_BYTES, MEMORY, MEMORY_EACH};
use super::{commands, overload, reactions, returning, sign_ins, soak};

/// No step takes longer on a machine that is fit for it.
pub(super) const STEP_MAX: Duration = Duration::from_secs(300);

/// How long the idle fleet is looked at.
const IDLE_FOR: Duration = Duration::from_secs(10);

/// When everything that follows sign-ins is over, too.
const SETTLED_AFTER: Duration = Duration::from_secs(12);

/// Minions that send events, and how long they do.
pub(super) const SENDERS: u32 = 20;
pub(super) const EVENTS: Duration = Duration::from_secs(8);

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
    /// What is not as it has to be.
    pub(super) faults: Vec<String>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
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
    faults: Vec<String>,
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
        faults: Vec::new(),
        show: &show,
    };
    scene.run()?;
    Ok(Measured {
        count: plan.count,
        figures: scene.figures,
        faults: scene.faults,
    })
}

impl Scene<'_> {
    fn run(&mut self) -> Result<()> {
        let empty_kib = self.masters.own_kib()?;
        self.come()?;
        std::thread::sleep(SETTLED_AFTER);
        self.look_at_idle(&empty_kib)?;
        commands::command(self)?;
        self.take_events()?;
        reactions::react(self)?;
        if let Some(times) = self.plan.overload {
            overload::overload(self, times)?;
        }
        if let Some(time) = self.plan.soak {
            soak::soak(self, time)?;
        }
        returning::lose_one(self)?;
        returning::come_back(self)?;
        sign_ins::sign_in(self)?;
        for emulator in self.emulators.drain(..) {
            emulator.stop()?;
        }
        Ok(())
    }

    /// All sign in for the first time.
    fn come(&mut self) -> Result<()> {
        let begun = (Instant::now(), self.masters.cpu()?);
        let traffic = self.masters.traffic();
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
        self.record_figure("new fleet: all are ready after", "s", seconds);
        let cpu = self.masters.cpu()? - begun.1;
        self.record_figure(JOINED.0, JOINED.1, cpu * 1e3 / f64::from(count));
        note_traffic(self, JOINED_BYTES.0, traffic, 1);
        Ok(())
    }

    fn look_at_idle(&mut self, empty_kib: &[f64]) -> Result<()> {
        let all = self.masters.own_kib()?;
        let most = all.iter().copied().fold(0.0, f64::max);
        self.record_figure(MEMORY.0, MEMORY.1, most / 1024.0);
        let grown = all.iter().sum::<f64>() - empty_kib.iter().sum::<f64>();
        let each = grown / f64::from(self.plan.count * self.masters.links());
        self.record_figure(MEMORY_EACH.0, MEMORY_EACH.1, each);
        let descriptors = self.masters.descriptors()?;
        self.record_figure(DESCRIPTORS.0, DESCRIPTORS.1, descriptors as f64);
        let begun = (Instant::now(), self.masters.cpu()?);
        let minions = self.emulated_cpu();
        std::thread::sleep(IDLE_FOR);
        let share = (self.masters.cpu()? - begun.1) / begun.0.elapsed().as_secs_f64();
        self.record_figure(IDLE.0, IDLE.1, share * 100.0);
        let after = self.emulated_cpu();
        let share = (after.0 - minions.0) / (after.1 - minions.1);
        let name = "idle: processor of a thousand minions";
        let thousand = f64::from(self.plan.count) / 1e3;
        self.record_figure(name, "% of a core", share * 100.0 / thousand);
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
        self.record_figure(
            "1000 events/s: processor of the masters",
            "% of a core",
            share * 100.0,
        );
        let p99 = state["event_times"]["p99_ms"].as_f64().unwrap_or(f64::NAN);
        self.record_figure("1000 events/s: 99 % are taken within", "ms", p99);
        ensure!(state["events_failed"] == 0, "events have failed: {state}");
        senders.stop()
    }

    /// Processor time of all emulated minions so far, and when that was, in seconds.
    fn emulated_cpu(&self) -> (f64, f64) {
        let sum = |name: &str| {
            let values = self.states().filter_map(|state| state[name].as_f64());
            values.sum::<f64>()
        };
        let processes = self.emulators.len().max(1) as f64;
        (sum("cpu_seconds"), sum("seconds") / processes)
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
    pub(super) fn lost(&self) -> u64 {
        self.sum_of("lost")
    }

    pub(super) fn sum_of(&self, counter: &str) -> u64 {
        let counts = self.states();
        counts.filter_map(|state| state[counter].as_u64()).sum()
    }

    /// What the emulators have said last.
    pub(super) fn states(&self) -> impl Iterator<Item = serde_json::Value> {
        self.emulators.iter().filter_map(Emulator::state)
    }

    /// Links of all minions.
    pub(super) fn links(&self) -> u64 {
        u64::from(self.plan.count) * u64::from(self.masters.links())
    }

    pub(super) fn record_figure(&mut self, name: &str, unit: &'static str, value: f64) {
        (self.show)(name, value, unit);
        let name = name.to_owned();
        self.figures.push(Figure { name, unit, value });
    }

    /// Something is not as it has to be. The measurement goes on, and fails at its end.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }
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
