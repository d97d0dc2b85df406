//! Several masters and their minions.

use anyhow::{Result, bail, ensure};

use crate::fleet::Fleet;
use crate::kind::Kind;
use crate::master::Master;
use crate::minion::MinionPlan;
use crate::wait::{START, until};

/// Every minion of the list answers every master of the list, and when one
/// master dies the others go on.
pub fn several_masters_share_their_minions(masters: &[Kind], minions: &[Kind]) -> Result<()> {
    let fleet = Fleet::new("several")?;
    let mut running: Vec<Master> = Vec::new();
    for (number, kind) in masters.iter().enumerate() {
        let mut plan = fleet.master(&format!("m{}", number + 1), *kind);
        if let Some(first) = running.first() {
            plan = plan.key_pair_of(first);
        }
        running.push(plan.start()?);
    }
    let ids: Vec<String> = (1..=minions.len())
        .map(|number| format!("web{number}"))
        .collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut started = Vec::new();
    for (id, kind) in ids.iter().zip(minions) {
        let plan = running.iter().fold(fleet.minion(id, *kind), MinionPlan::of);
        started.push(plan.start()?);
    }
    for master in &running {
        for id in &ids {
            master.accept(id)?;
        }
    }
    for master in &running {
        master.check_ping(&ids)?;
        let ran = master.returns(&["*", "cmd.run", "echo $((6 * 7))"])?;
        ensure!(
            ran.len() == ids.len() && ran.values().all(|answer| answer == "42"),
            "unexpected {ran:?}"
        );
    }
    let Some((first, others)) = running.split_first_mut() else {
        bail!("no master");
    };
    first.kill9()?;
    for master in &*others {
        master.check_ping(&ids)?;
        master.check_ping(&ids)?;
    }
    first.start()?;
    until("every minion to answer the restarted master", START, || {
        Ok(first.check_ping(&ids).ok())
    })?;
    for master in &*others {
        master.check_ping(&ids)?;
    }
    Ok(())
}
