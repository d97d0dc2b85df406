//! The faults, commands and results of a run of chaos; and the choices that a seed
//! determines.
//!
//! Invariant: a command counts as run once only if its minion has written its token
//! once and a master has that result.

mod faults;
mod length;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

pub use self::faults::{Fault, Part, Trouble, Troubles};
pub use self::length::{FaultsPer10sMin, Length, setting};

use crate::wire::msgpack::Item;
use crate::{Kind, Master, Minion};

/// Numbers that a seed determines.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        // Splitmix: any seed is good.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from((mixed ^ (mixed >> 31)) % limit).unwrap_or(0)
    }

    /// Some milliseconds.
    pub fn millis(&mut self, from: usize, to: usize) -> Duration {
        let millis = from + self.below(to - from);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// A command that a master accepted.
#[derive(Debug)]
pub struct Sent {
    /// The job's id.
    pub jid: String,
    /// What it writes and says.
    pub token: String,
    /// The minions that it is for.
    pub targets: Vec<usize>,
}

/// The results of job and minion, as job caches have them.
pub type Results = BTreeMap<(String, String), Vec<Value>>;

/// The command that leaves `token` in a minion's directory and says it.
#[must_use]
pub fn command(token: &str, pause: &str) -> String {
    // The parent of the shell is the minion; its last argument is its directory.
    let own = r"$(tr '\0' '\n' < /proc/$PPID/cmdline | tail -n 1)";
    format!("cd {own} && {pause}echo {token} >> ran && echo {token}")
}

/// Publishes a command without waiting for its returns; gives the job id.
pub fn publish(master: &Master, target: &str, command: &str) -> Result<String> {
    let args = ["--async", target, "cmd.run", command];
    let output = master.salt(&args)?.ok()?;
    let jid = output.stdout.trim().rsplit(' ').next().unwrap_or_default();
    ensure!(jid.len() == 20, "no job id in {output}");
    Ok(jid.to_owned())
}

/// What is waited for at the end: who is to have returned which job.
pub fn due<'a>(
    sent: &'a [Sent],
    minions: &'a [Minion],
) -> impl Iterator<Item = (String, String)> + 'a {
    sent.iter().flat_map(move |sent| {
        let id = |which: &usize| minions[*which].id().to_owned();
        sent.targets
            .iter()
            .map(move |which| (sent.jid.clone(), id(which)))
    })
}

/// What was done, and what became of it.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Of the choices.
    pub seed: u64,
    /// How often each was made.
    pub faults: BTreeMap<Fault, usize>,
    /// Accepted by a master.
    pub commands: usize,
    /// Refused by a master that lives.
    pub not_accepted: usize,
    /// Commands times their minions.
    pub runs_due: usize,
    /// Run once, with its result at a master.
    pub ran: usize,
    /// Stopped with its minion, which has said so.
    pub cut_off: usize,
    /// Results that two masters have.
    pub at_two_masters: usize,
    /// Neither run nor answered.
    pub lost_commands: usize,
    /// Run, and no master has the result.
    pub lost_results: usize,
    /// Run by a minion of Salt that has given its result up, and says so in its log.
    pub given_up: usize,
    /// Missed by a minion of Salt while its own connection failed.
    pub missed: usize,
    /// Run more than once.
    pub ran_twice: usize,
    /// How long the results took after the last fault.
    pub settled_after: Duration,
    /// What went wrong, by example.
    pub examples: Vec<String>,
}

impl Ledger {
    /// What was lost, or run twice.
    pub fn losses(&self) -> usize {
        self.lost_commands + self.lost_results + self.ran_twice
    }

    /// How many faults were made.
    pub fn fault_count(&self) -> usize {
        self.faults.values().sum()
    }

    /// Notes a command that a living master has refused.
    pub fn refused(&mut self, master: usize, token: &str, error: &anyhow::Error) {
        self.not_accepted += 1;
        let example = format!("m{} refused {token}: {error}", master + 1);
        self.examples.push(example);
    }

    /// Counts what became of each command.
    pub fn judge(&mut self, sent: &[Sent], minions: &[Minion], results: &Results) {
        let mut ran: BTreeMap<(usize, String), usize> = BTreeMap::new();
        for (which, minion) in minions.iter().enumerate() {
            let text = fs::read_to_string(minion.dir().join("ran")).unwrap_or_default();
            for token in text.lines() {
                *ran.entry((which, token.to_owned())).or_default() += 1;
            }
        }
        for sent in sent {
            for which in &sent.targets {
                let id = minions[*which].id();
                let times = ran.get(&(*which, sent.token.clone())).copied().unwrap_or(0);
                let result = results.get(&(sent.jid.clone(), id.to_owned()));
                if result.is_none() && times == 1 && gives_up(&minions[*which], &sent.jid) {
                    self.given_up += 1;
                    continue;
                }
                if let Some(verdict) = self.count(&sent.token, times, result) {
                    self.examples.push(format!(
                        "{} {} on {id}: {verdict}, {result:?}",
                        sent.jid, sent.token
                    ));
                }
            }
        }
    }

    /// Counts one command of one minion; what is wrong with it.
    fn count(
        &mut self,
        token: &str,
        times: usize,
        result: Option<&Vec<Value>>,
    ) -> Option<&'static str> {
        let returned = result.and_then(|found| found.first());
        let is_cut = returned
            .and_then(Value::as_str)
            .is_some_and(|text| text.contains("stopped while"));
        self.at_two_masters += usize::from(result.is_some_and(|found| found.len() > 1));
        match (returned, times) {
            (_, 2..) => {
                self.ran_twice += 1;
                Some("ran twice")
            }
            (None, 0) => {
                self.lost_commands += 1;
                Some("lost")
            }
            (None, _) => {
                self.lost_results += 1;
                Some("result lost")
            }
            (Some(_), _) if is_cut => {
                self.cut_off += 1;
                None
            }
            (Some(value), 1) if *value == token => {
                self.ran += 1;
                None
            }
            (Some(_), _) => {
                self.lost_results += 1;
                Some("result wrong")
            }
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "seed {}", self.seed)?;
        writeln!(out, "faults {}: {:?}", self.fault_count(), self.faults)?;
        writeln!(
            out,
            "commands {} ({} not accepted), runs due {}",
            self.commands, self.not_accepted, self.runs_due
        )?;
        writeln!(
            out,
            "ran once {}, cut off and reported {}, results at two masters {}",
            self.ran, self.cut_off, self.at_two_masters
        )?;
        writeln!(
            out,
            "lost commands {}, lost results {} (minions of Salt gave up {} more and missed {} \
             commands), ran twice {}, settled after {:.1?}",
            self.lost_commands,
            self.lost_results,
            self.given_up,
            self.missed,
            self.ran_twice,
            self.settled_after
        )?;
        for example in &self.examples {
            writeln!(out, "  {example}")?;
        }
        writeln!(
            out,
            "{} faults, {} commands: {} lost, {} run twice",
            self.fault_count(),
            self.commands,
            self.lost_commands + self.lost_results,
            self.ran_twice
        )
    }
}

/// Whether a minion of Salt says that it has given a result up. 3008.5 forgets what it
/// was about to return when it loses its subscription; any version gives up after some
/// tries.
pub fn gives_up(minion: &Minion, jid: &str) -> bool {
    if minion.kind() == Kind::Ours {
        return false;
    }
    let log = fs::read_to_string(minion.dir().join("log")).unwrap_or_default();
    minion.kind() != Kind::Ours
        && log.contains(&format!(
            "failed to return the job information for job {jid}"
        ))
}

/// Adds every result in a master's job cache, by job and minion.
pub fn read_cache(master: &Master, results: &mut Results) -> Result<()> {
    read_cache_in(&master.dir().join("cache"), results)
}

/// The same for a cache directory.
pub fn read_cache_in(cache: &Path, results: &mut Results) -> Result<()> {
    let Ok(firsts) = fs::read_dir(cache.join("jobs")) else {
        return Ok(());
    };
    for first in firsts.flatten() {
        // One that a master has just cleaned away has none.
        for job in fs::read_dir(first.path()).into_iter().flatten().flatten() {
            let Ok(jid) = fs::read_to_string(job.path().join("jid")) else {
                continue;
            };
            for minion in fs::read_dir(job.path()).into_iter().flatten().flatten() {
                if let Ok(bytes) = fs::read(minion.path().join("return.p")) {
                    let id = minion.file_name().to_string_lossy().into_owned();
                    let value = Item::unpack(&bytes)?.to_json()["return"].clone();
                    results.entry((jid.clone(), id)).or_default().push(value);
                }
            }
        }
    }
    Ok(())
}
