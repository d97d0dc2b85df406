//! A cluster of Salt's masters is stopped and one of ours started on the same
//! directories, or the reverse: minions notice nothing but the pause.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use halite_integration_tests::{Balancer, Fleet, HAPROXY, Kind, Master, Minion, START, until};
use halite_test_support::have_programs;

use crate::support::Cluster;

/// Salt's masters hold elections before they serve, which takes long where
/// processors are busy.
const SERVES: Duration = Duration::from_secs(180);

/// What a cluster of Salt's takes that comes up at all, and how many are started for one
/// that does: of the first starts of some the masters never agree.
const AGREED: Duration = Duration::from_secs(90);
const STARTS_MAX: usize = 3;

/// Files that minions and masters know the cluster by.
const FILES: [&str; 3] = ["cluster.pem", "cluster.pub", ".aes"];

struct TakenOver {
    minions: Vec<Minion>,
    balancer: Balancer,
    cluster: Cluster,
}

impl TakenOver {
    /// Two masters of a kind with minions behind a balancer, who answer. Masters of Salt
    /// that have never agreed do not do so later, either: then others are started.
    fn start(kind: Kind) -> Result<Self> {
        let tries = if kind == Kind::Ours { 1 } else { STARTS_MAX };
        let mut started = Self::try_start(kind);
        for _ in 1..tries {
            if started.is_ok() {
                break;
            }
            started = Self::try_start(kind);
        }
        started
    }

    fn try_start(kind: Kind) -> Result<Self> {
        let mut cluster = Cluster::lay_of(kind, 2, |plan| {
            plan.set("cluster_secret", "a secret of this test")
                .set("cluster_election_min", 3000)
                .set("cluster_election_max", 6000)
        })?;
        start_in_order(&mut cluster)?;
        let addresses: Vec<_> = cluster.masters.iter().map(Master::address).collect();
        let balancer = Balancer::start(&cluster.fleet, &addresses, None)?;
        let first = start_minion(&cluster.fleet, &balancer, "py3008", Kind::Salt3008)?;
        let mut taken = Self {
            minions: vec![first],
            balancer,
            cluster,
        };
        // Masters of Salt take sign-ins before they have agreed on the key of the cluster,
        // and a minion keeps the key that it has seen first.
        taken.wait_answers(0, AGREED)?;
        for (id, kind) in [("web1", Kind::Ours), ("py3006", Kind::Salt3006)] {
            let minion = start_minion(&taken.cluster.fleet, &taken.balancer, id, kind)?;
            taken.minions.push(minion);
        }
        taken.wait_answers(0, AGREED)?;
        Ok(taken)
    }

    /// Stops the masters; what minions and masters know the cluster by. The last master
    /// of Salt may still have changed it when the other one was gone.
    fn stop_masters(&mut self) -> Result<Vec<Vec<u8>>> {
        for master in &mut self.cluster.masters {
            master.stop()?;
        }
        self.files()
    }

    /// Starts masters of this kind in the directories of those that were stopped.
    fn replace_by(&mut self, kind: Kind) -> Result<()> {
        for master in &mut self.cluster.masters {
            master.replace_by(kind)?;
        }
        start_in_order(&mut self.cluster)
    }

    /// Waits until all minions answer a master.
    fn wait_answers(&self, n: usize, within: Duration) -> Result<()> {
        let master = &self.cluster.masters[n];
        let mut last = String::new();
        let what = format!("all minions to answer m{} ({})", n + 1, master.kind());
        let answered = until(&what, within, || {
            let said = master.salt(&["-t", "3", "*", "test.ping", "--out=txt"])?;
            let is_here = |of: &Minion| said.stdout.contains(&format!("{}: True", of.id()));
            let all = self.minions.iter().all(is_here);
            last = format!("{said}");
            Ok(all.then_some(()))
        });
        answered.with_context(|| format!("the last answers:\n{last}"))
    }

    fn pids(&mut self) -> Result<Vec<i32>> {
        let pids = self.minions.iter_mut().map(|of| of.daemon().pid());
        pids.collect()
    }

    /// Checks that no minion was started again since it had these.
    fn check_run_since(&mut self, pids: &[i32]) -> Result<()> {
        for (minion, pid) in self.minions.iter_mut().zip(pids) {
            minion.daemon().check_runs()?;
            let now = minion.daemon().pid()?;
            ensure!(now == *pid, "{} was started again", minion.id());
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<Vec<u8>>> {
        let pki = self.cluster.shared().join("pki");
        let all = FILES.map(|name| fs::read(pki.join(name)).context(name));
        all.into_iter().collect()
    }
}

/// Starts the masters one after the other, the one that founds a cluster first: Salt's
/// asks the others once, and never again if none listens yet.
fn start_in_order(cluster: &mut Cluster) -> Result<()> {
    let mut masters: Vec<&mut Master> = cluster.masters.iter_mut().collect();
    masters.sort_by_key(|master| master.address().ip().to_string());
    masters.into_iter().try_for_each(Master::start)
}

fn start_minion(fleet: &Fleet, balancer: &Balancer, id: &str, kind: Kind) -> Result<Minion> {
    let plan = fleet.minion(id, kind);
    plan.set("master", balancer.address.request().to_string())
        .set("publish_port", balancer.address.publish().port())
        .start()
}

#[test]
fn a_cluster_of_salt_becomes_ours() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let mut taken = TakenOver::start(Kind::Salt3008)?;
    let pids = taken.pids()?;
    let files = taken.stop_masters()?;

    taken.replace_by(Kind::Ours)?;
    for n in 0..2 {
        taken.wait_answers(n, SERVES)?;
    }
    ensure!(taken.files()? == files, "the keys of the cluster changed");
    let keys = taken.cluster.masters[1].key(&["-L", "--out=json"])?.ok()?;
    let keys: serde_json::Value = serde_json::from_str(&keys.stdout)?;
    let accepted = serde_json::json!(["py3006", "py3008", "web1"]);
    ensure!(keys["minions"] == accepted, "{keys}");
    // Minions may answer before the masters are linked both ways.
    let other = taken.cluster.masters[1].address().ip().to_string();
    let tools = taken.cluster.masters[0].tools(Kind::Ours);
    until("the masters to be connected", START, || {
        let said = tools.runner(&["cluster.members", "--out=json"])?.ok()?;
        let members: serde_json::Value = serde_json::from_str(&said.stdout)?;
        let is_connected = members["members"][&other]["connected"] == true;
        Ok(is_connected.then_some(()))
    })?;

    taken.check_run_since(&pids)?;
    until("no key to wait", START, || {
        let waiting = taken.cluster.shared().join("pki/minions_pre");
        let count = fs::read_dir(waiting).map_or(0, Iterator::count);
        Ok((count == 0).then_some(()))
    })
}

#[test]
fn a_cluster_of_ours_becomes_salts() -> Result<()> {
    if !have_programs(&[HAPROXY]) {
        return Ok(());
    }
    let mut taken = TakenOver::start(Kind::Ours)?;
    for n in 0..2 {
        taken.wait_answers(n, SERVES)?;
    }
    let pids = taken.pids()?;
    let files = taken.stop_masters()?;

    taken.replace_by(Kind::Salt3008)?;
    taken.wait_answers(0, SERVES)?;
    // The publish key is a new one whenever masters of Salt start.
    ensure!(
        taken.files()?[..2] == files[..2],
        "the key pair of the cluster changed"
    );
    taken.check_run_since(&pids)
}
