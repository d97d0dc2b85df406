//! What a run of chaos has done and what became of it; the choices that a seed
//! determines.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::Duration;

use anyhow::Result;
use halite_integration_tests::Master;
use halite_integration_tests::wire::msgpack::Item;
use serde_json::Value;

/// Numbers that a seed determines.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // Splitmix: any seed is good.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from((mixed ^ (mixed >> 31)) % limit).unwrap_or(0)
    }

    pub(crate) fn millis(&mut self, from: usize, to: usize) -> Duration {
        let millis = from + self.below(to - from);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    MasterKilled,
    MasterHangs,
    MinionKilled,
    MinionHangs,
    CableCut,
    CableToNowhere,
}

/// What was done, and what became of it.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) seed: u64,
    pub(crate) faults: BTreeMap<Fault, usize>,
    pub(crate) commands: usize,
    pub(crate) not_accepted: usize,
    pub(crate) runs_due: usize,
    pub(crate) ran: usize,
    pub(crate) cut_off: usize,
    pub(crate) at_two_masters: usize,
    pub(crate) lost_commands: usize,
    pub(crate) lost_results: usize,
    pub(crate) ran_twice: usize,
    pub(crate) settled_after: Duration,
    pub(crate) examples: Vec<String>,
}

impl fmt::Display for Ledger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "seed {}", self.seed)?;
        let faults: usize = self.faults.values().sum();
        writeln!(out, "faults {faults}: {:?}", self.faults)?;
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
            "lost commands {}, lost results {}, ran twice {}, settled after {:.1?}",
            self.lost_commands, self.lost_results, self.ran_twice, self.settled_after
        )?;
        for example in &self.examples {
            writeln!(out, "  {example}")?;
        }
        Ok(())
    }
}

/// Adds every result in a master's job cache, by job and minion.
pub(crate) fn read_cache(
    master: &Master,
    results: &mut BTreeMap<(String, String), Vec<Value>>,
) -> Result<()> {
    let Ok(firsts) = fs::read_dir(master.dir().join("cache/jobs")) else {
        return Ok(());
    };
    for first in firsts.flatten() {
        for job in fs::read_dir(first.path())?.flatten() {
            let Ok(jid) = fs::read_to_string(job.path().join("jid")) else {
                continue;
            };
            for minion in fs::read_dir(job.path())?.flatten() {
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
