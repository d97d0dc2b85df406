//! One master and one herd, from the first sign-in to the return after the
//! master's death.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Emulator, Fleet, Kind, Master, Output, Programs, until};

/// No step takes longer on a machine that is fit for it.
const STEP_MAX: Duration = Duration::from_secs(300);

/// How long the idle herd is looked at.
const IDLE: Duration = Duration::from_secs(10);

/// When everything that follows sign-ins is over, too.
const SETTLED_AFTER: Duration = Duration::from_secs(12);

/// Minions that send events, and how long they do.
const SENDERS: u32 = 20;
const EVENTS: Duration = Duration::from_secs(8);

/// Bytes of the file that all minions fetch.
const FILE_BYTES: usize = 10_000;

/// Times that a command is given whose time is measured.
const TIMES: usize = 3;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Herd {
    pub(super) count: u32,
    pub(super) processes: u32,
}

/// The figures of one herd.
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

struct Scene<'s> {
    fleet: &'s Fleet,
    master: Master,
    herd: Herd,
    emulators: Vec<Emulator>,
    figures: Vec<Figure>,
    show: &'s dyn Fn(&str, f64, &str),
}

/// Measures one herd; `show` gets each figure as it comes.
pub(super) fn measure(
    programs: &Programs,
    herd: Herd,
    show: impl Fn(&str, f64, &str),
) -> Result<Measured> {
    let memory = Path::new("/dev/shm");
    let base = match memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    };
    let fleet = Fleet::quiet_in("scale", programs.clone(), &base)?;
    let master = fleet
        .master("m1", Kind::Ours)
        .auto_accept()
        .set("max_open_files", 200_000)
        .set("log_level_logfile", "error")
        .file("probe.txt", &"x".repeat(FILE_BYTES))
        .lay()?;
    let mut scene = Scene {
        fleet: &fleet,
        master,
        herd,
        emulators: Vec::new(),
        figures: Vec::new(),
        show: &show,
    };
    scene.run()?;
    Ok(Measured {
        count: herd.count,
        figures: scene.figures,
    })
}

impl Scene<'_> {
    fn run(&mut self) -> Result<()> {
        self.master.start_on_ports()?;
        let empty_kib = self.own_kib()?;
        self.come()?;
        std::thread::sleep(SETTLED_AFTER);
        self.look_at_idle(empty_kib)?;
        self.command()?;
        self.take_events()?;
        self.come_back()?;
        for emulator in self.emulators.drain(..) {
            emulator.stop()?;
        }
        Ok(())
    }

    /// All sign in for the first time.
    fn come(&mut self) -> Result<()> {
        let begun = (Instant::now(), self.cpu()?);
        let Herd { count, processes } = self.herd;
        let each = count.div_ceil(processes);
        for process in 0..processes {
            let first = process * each;
            let part = each.min(count - first);
            let emulator = Emulator::start(self.fleet, &self.master, (first, part), &[])?;
            self.emulators.push(emulator);
        }
        self.wait_ready()?;
        let count = f64::from(self.herd.count);
        let seconds = begun.0.elapsed().as_secs_f64();
        self.note("cold herd: all are ready after", "s", seconds);
        let cpu = self.cpu()? - begun.1;
        self.note(
            "cold herd: the master's processor time each",
            "ms",
            cpu * 1e3 / count,
        );
        Ok(())
    }

    fn look_at_idle(&mut self, empty_kib: f64) -> Result<()> {
        let count = f64::from(self.herd.count);
        let all = self.own_kib()?;
        self.note("idle: the master's own memory", "MiB", all / 1024.0);
        let each = (all - empty_kib) / count;
        self.note("idle: memory of a connected minion", "KiB", each);
        let pid = self.master.daemon().pid()?;
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        self.note("idle: descriptors", "", descriptors as f64);
        let begun = (Instant::now(), self.cpu()?);
        std::thread::sleep(IDLE);
        let share = (self.cpu()? - begun.1) / begun.0.elapsed().as_secs_f64();
        self.note("idle: the master's processor", "% of a core", share * 100.0);
        Ok(())
    }

    fn command(&mut self) -> Result<()> {
        let all = self.herd.count as usize;
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
        let cpu = self.cpu()?;
        for _ in 0..times {
            let begun = Instant::now();
            let output = self.master.salt(args)?.ok()?;
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
        let cpu = (self.cpu()? - cpu) / took.len() as f64;
        self.note(name, "s of the master's processor", cpu);
        Ok(())
    }

    /// A thousand events a second, from a few minions.
    fn take_events(&mut self) -> Result<()> {
        let first = self.herd.count;
        let args = ["--prefix", "sender", "--events", "1000"];
        let senders = Emulator::start(self.fleet, &self.master, (first, SENDERS), &args)?;
        senders.wait("events flow", STEP_MAX, |state| {
            state["events"].as_u64() > Some(0)
        })?;
        let begun = (Instant::now(), self.cpu()?);
        let until =
            |state: &serde_json::Value| state["events"].as_u64() >= Some(1000 * EVENTS.as_secs());
        let state = senders.wait("the events are taken", STEP_MAX, until)?;
        let seconds = begun.0.elapsed().as_secs_f64();
        let share = (self.cpu()? - begun.1) / seconds;
        self.note(
            "1000 events/s: the master's processor",
            "% of a core",
            share * 100.0,
        );
        let p99 = state["event_times"]["p99_ms"].as_f64().unwrap_or(f64::NAN);
        self.note("1000 events/s: 99 % are taken within", "ms", p99);
        ensure!(state["events_failed"] == 0, "events have failed: {state}");
        senders.stop()
    }

    /// The master dies and starts again, and nobody's command fails after.
    fn come_back(&mut self) -> Result<()> {
        self.master.kill9()?;
        until("the herd sees its loss", STEP_MAX, || {
            Ok((self.ready() == 0).then_some(()))
        })?;
        let begun = Instant::now();
        self.master.start_on_ports()?;
        let mut asked = Vec::new();
        while self.ready() < u64::from(self.herd.count) {
            ensure!(begun.elapsed() < STEP_MAX, "{} are back", self.ready());
            let asks = Instant::now();
            self.master
                .tools(Kind::Ours)
                .runner(&["test.arg", "1", "--out=quiet"])?;
            asked.push(asks.elapsed().as_secs_f64() * 1e3);
        }
        self.note(
            "warm herd: all are back after",
            "s",
            begun.elapsed().as_secs_f64(),
        );
        let cpu = self.cpu()? * 1e3 / f64::from(self.herd.count);
        self.note("warm herd: the master's processor time each", "ms", cpu);
        asked.sort_by(f64::total_cmp);
        let at = (asked.len() * 99).div_ceil(100).saturating_sub(1);
        self.note(
            "warm herd: a runner meanwhile, 99 % within",
            "ms",
            asked.get(at).copied().unwrap_or(f64::NAN),
        );
        let output = self
            .master
            .salt(&["emu*", "test.ping", "--out=txt", "-t", "120"])?
            .ok()?;
        let answers = lines_of_minions(&output);
        ensure!(
            answers == self.herd.count as usize,
            "{answers} answer after the return"
        );
        Ok(())
    }

    fn wait_ready(&mut self) -> Result<()> {
        let count = u64::from(self.herd.count);
        let waited = until("all are ready", STEP_MAX, || {
            // One may refuse a number that it has no descriptors for.
            for emulator in &mut self.emulators {
                emulator.check_runs()?;
            }
            Ok((self.ready() == count).then_some(()))
        });
        waited.with_context(|| format!("{} of {count} are", self.ready()))
    }

    fn ready(&self) -> u64 {
        let states = self.emulators.iter().filter_map(Emulator::state);
        states.filter_map(|state| state["ready"].as_u64()).sum()
    }

    /// Memory that the master has written itself, in KiB.
    fn own_kib(&self) -> Result<f64> {
        Ok(self.master.own_memory_kib()? as f64)
    }

    /// Processor time of the master so far, in seconds.
    fn cpu(&mut self) -> Result<f64> {
        let pid = self.master.daemon().pid()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, rest) = stat.rsplit_once(')').context("an odd stat")?;
        let fields: Vec<f64> = rest
            .split_ascii_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse().ok())
            .collect();
        Ok(fields.iter().sum::<f64>() / 100.0)
    }

    fn note(&mut self, name: &'static str, unit: &'static str, value: f64) {
        (self.show)(name, value, unit);
        self.figures.push(Figure { name, unit, value });
    }
}

/// Lines that are a minion's answer.
fn lines_of_minions(output: &Output) -> usize {
    let lines = output.lines().into_iter();
    lines.filter(|line| line.starts_with("emu")).count()
}
