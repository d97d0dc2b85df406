//! Two masters with one key pair, a minion of both, and commands that leave
//! traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Fleet, Kind, Master, Minion, MinionPlan, Programs};

/// The two masters and the minion.
pub(crate) struct Pair {
    pub(crate) masters: [Master; 2],
    pub(crate) minion: Minion,
    tokens: PathBuf,
    sent: Vec<Sent>,
    _fleet: Fleet,
}

/// A command that a master accepted.
struct Sent {
    token: String,
    jid: String,
}

/// What became of the commands since the last count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) sent: usize,
    pub(crate) never_ran: usize,
    pub(crate) without_result: usize,
}

impl Pair {
    pub(crate) fn start(
        kind: Kind,
        change: impl for<'a> Fn(MinionPlan<'a>) -> MinionPlan<'a>,
    ) -> Result<Self> {
        let fleet = Fleet::quiet("outage", Programs::from_env()?)?;
        let first = fleet.master("m1", kind).auto_accept().start()?;
        let second = fleet
            .master("m2", kind)
            .auto_accept()
            .key_pair_of(&first)
            .start()?;
        let plan = fleet.minion("web1", kind).of(&first).of(&second);
        let minion = change(plan).start()?;
        first.wait_minion("web1")?;
        Ok(Self {
            tokens: fleet.path().join("tokens"),
            masters: [first, second],
            minion,
            sent: Vec::new(),
            _fleet: fleet,
        })
    }

    /// Publishes a command through a master, without waiting for it.
    pub(crate) fn send(&mut self, master: usize, pause: &str) -> Result<()> {
        let token = format!("t{}", self.sent.len());
        let file = self.tokens.display();
        let command = format!("{pause}echo {token} >> {file}; echo {token}");
        let output = self.masters[master]
            .salt(&["--async", "web1", "cmd.run", &command])?
            .ok()?;
        let jid = output.stdout.trim().rsplit(' ').next().unwrap_or_default();
        ensure!(jid.len() == 20, "no job id in {output}");
        let jid = jid.to_owned();
        self.sent.push(Sent { token, jid });
        Ok(())
    }

    /// Sends commands through a master at a steady pace.
    pub(crate) fn send_for(&mut self, master: usize, seconds: u64, pace: Duration) -> Result<()> {
        let begun = Instant::now();
        let mut next = begun;
        while begun.elapsed() < Duration::from_secs(seconds) {
            self.send(master, "")?;
            next += pace;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Asks again and again until the last command has run; how long it took.
    pub(crate) fn until_the_last_ran(&self, limit: Duration) -> Option<Duration> {
        let begun = Instant::now();
        let last = &self.sent.last()?.token;
        while begun.elapsed() < limit {
            if self.ran().iter().any(|token| token == last) {
                return Some(begun.elapsed());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// How long it takes until a master's command is answered.
    pub(crate) fn until_answered(
        &self,
        master: usize,
        limit: Duration,
    ) -> Result<Option<Duration>> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            let output = self.masters[master].salt(&["-t", "2", "web1", "test.ping"])?;
            if output.stdout.contains("True") {
                return Ok(Some(begun.elapsed()));
            }
        }
        Ok(None)
    }

    /// What became of all commands, after `settle` at most; they are forgotten.
    pub(crate) fn count(&mut self, settle: Duration) -> Result<Count> {
        let begun = Instant::now();
        loop {
            let ran = self.ran();
            let mut count = Count {
                sent: self.sent.len(),
                ..Count::default()
            };
            for sent in &self.sent {
                count.never_ran += usize::from(!ran.contains(&sent.token));
                count.without_result += usize::from(!self.has_result(&sent.jid)?);
            }
            if count.without_result == 0 || begun.elapsed() > settle {
                self.sent.clear();
                fs::write(&self.tokens, "")?;
                return Ok(count);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn ran(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.tokens).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn has_result(&self, jid: &str) -> Result<bool> {
        for master in &self.masters {
            if return_file(master.dir(), jid)
                .context("the job cache")?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// CPU seconds that the minion and the second master have used.
    pub(crate) fn cpu(&mut self) -> Result<f64> {
        let mut processes = self.minion.daemon().processes()?;
        processes.extend(self.masters[1].daemon().processes()?);
        Ok(processes.into_iter().map(cpu_seconds).sum())
    }
}

/// Seconds in user and kernel, with those of children that have ended.
fn cpu_seconds(pid: i32) -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS_PER_SECOND
}

fn return_file(master: &Path, jid: &str) -> Result<Option<PathBuf>> {
    let Ok(firsts) = fs::read_dir(master.join("cache/jobs")) else {
        return Ok(None);
    };
    for first in firsts.flatten() {
        let Ok(jobs) = fs::read_dir(first.path()) else {
            continue;
        };
        for job in jobs.flatten() {
            let is_it = fs::read_to_string(job.path().join("jid")).is_ok_and(|text| text == jid);
            let file = job.path().join("web1/return.p");
            if is_it && file.exists() {
                return Ok(Some(file));
            }
        }
    }
    Ok(None)
}
