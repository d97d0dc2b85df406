//! Three masters with a shared directory, and their minions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::chaos::{Results, publish, read_cache_in};
use halite_integration_tests::{
    Balancer, Fleet, HAPROXY, Kind, Master, MasterPlan, Minion, SHORT, START, share_files, until,
};
use halite_test_support::have_programs;

/// Between two looks at many files.
const PAUSE: Duration = Duration::from_millis(100);

/// The port for peers: each master has an address of its own.
const POOL_PORT: u16 = 4520;

/// Masters of one cluster; nothing runs yet.
pub(crate) struct Cluster {
    pub(crate) masters: Vec<Master>,
    pub(crate) fleet: Fleet,
}

/// A plan as it is.
pub(crate) fn plain(plan: MasterPlan<'_>) -> MasterPlan<'_> {
    plan
}

impl Cluster {
    /// Lays masters as the tutorial does: named by their addresses, with keys and
    /// cache in a shared directory.
    pub(crate) fn lay(
        masters: usize,
        change: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Self> {
        Self::lay_of(Kind::Ours, masters, change)
    }

    /// The same, of any kind.
    pub(crate) fn lay_of(
        kind: Kind,
        masters: usize,
        change: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Self> {
        let fleet = Fleet::new("cluster")?;
        let lay = |n| change(fleet.master(&format!("m{n}"), kind).auto_accept()).lay();
        let all = (1..=masters).map(lay).collect::<Result<Vec<_>>>()?;
        share_files(&fleet, &all, POOL_PORT)?;
        Ok(Self {
            masters: all,
            fleet,
        })
    }

    /// The directory that the masters share.
    pub(crate) fn shared(&self) -> PathBuf {
        self.fleet.path().join("share")
    }

    /// Waits until a minion's key is accepted; the first master accepts it if the
    /// masters do not by themselves.
    fn accept(&self, minion: &str) -> Result<()> {
        let pki = self.shared().join("pki");
        let master = self.masters.first().context("no master was laid")?;
        until(&format!("{minion} to be accepted"), START, || {
            if pki.join("minions_pre").join(minion).exists() {
                master.key(&["-y", "-a", minion])?;
            }
            Ok(pki.join("minions").join(minion).exists().then_some(()))
        })
    }

    /// Starts all of them at once, and waits until they are ready.
    pub(crate) fn start(&mut self) -> Result<()> {
        std::thread::scope(|scope| {
            let all = self.masters.iter_mut();
            let all: Vec<_> = all.map(|one| scope.spawn(|| one.start())).collect();
            all.into_iter().try_for_each(|one| {
                one.join()
                    .unwrap_or_else(|_| Err(anyhow::anyhow!("a panic")))
            })
        })
    }
}

/// The address of a master, which is its name.
pub(crate) fn address(cluster: &Cluster, n: usize) -> String {
    cluster.masters[n].address().ip().to_string()
}

/// A cluster with a balancer in front and minions behind it.
pub(crate) struct BalancedCluster {
    pub(crate) minions: Vec<Minion>,
    _balancer: Balancer,
    pub(crate) cluster: Cluster,
}

impl BalancedCluster {
    /// Starts them, and waits until each minion answers each master; `None` where
    /// there is no haproxy.
    pub(crate) fn start(minions: &[(&str, Kind)]) -> Result<Option<Self>> {
        Self::with(minions, plain)
    }

    pub(crate) fn with(
        minions: &[(&str, Kind)],
        change: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Option<Self>> {
        Self::with_health(minions, None, change)
    }

    /// The same, with a balancer that asks the masters at this port.
    pub(crate) fn with_health(
        minions: &[(&str, Kind)],
        health_port: Option<u16>,
        change: impl for<'a> Fn(MasterPlan<'a>) -> MasterPlan<'a>,
    ) -> Result<Option<Self>> {
        if !have_programs(&[HAPROXY]) {
            return Ok(None);
        }
        let mut cluster = Cluster::lay(3, |plan| match health_port {
            Some(port) => change(plan.set("health_port", port)),
            None => change(plan),
        })?;
        cluster.start()?;
        let addresses: Vec<_> = cluster.masters.iter().map(Master::address).collect();
        let balancer = Balancer::start(&cluster.fleet, &addresses, health_port)?;
        let minions = minions.iter().map(|(id, kind)| {
            let plan = cluster.fleet.minion(id, *kind);
            let plan = plan
                .set("master", balancer.address.request().to_string())
                .set("publish_port", balancer.address.publish().port());
            plan.start()
        });
        let minions = minions.collect::<Result<Vec<_>>>()?;
        for minion in &minions {
            cluster.accept(minion.id())?;
        }
        let balanced = Self {
            minions,
            _balancer: balancer,
            cluster,
        };
        balanced.wait_all(START)?;
        Ok(Some(balanced))
    }

    /// Has all minions leave a token from a master; the job's id.
    pub(crate) fn leave(&self, n: usize, target: &str, token: &str) -> Result<String> {
        publish(&self.cluster.masters[n], target, &self.leaving(token))
    }

    /// The command that leaves a token and says it.
    pub(crate) fn leaving(&self, token: &str) -> String {
        format!("echo {token} >> {}; echo {token}", self.tokens().display())
    }

    /// How often a token was left.
    pub(crate) fn left(&self, token: &str) -> usize {
        let text = std::fs::read_to_string(self.tokens()).unwrap_or_default();
        text.lines().filter(|line| *line == token).count()
    }

    fn tokens(&self) -> PathBuf {
        self.cluster.fleet.path().join("tokens")
    }

    /// Waits until the masters have these results of a job.
    pub(crate) fn wait_results(&self, jid: &str, minions: &[&str]) -> Result<()> {
        let mut missing = Vec::new();
        let waited = until(&format!("the results of {jid}"), SHORT, || {
            let results = self.results()?;
            let has = |id: &&&str| results.contains_key(&(jid.to_owned(), (**id).to_owned()));
            missing = minions.iter().filter(|id| !has(id)).copied().collect();
            std::thread::sleep(PAUSE);
            Ok(missing.is_empty().then_some(()))
        });
        ensure!(waited.is_ok(), "{waited:?}: nothing of {missing:?}");
        Ok(())
    }

    /// All results that the masters have.
    pub(crate) fn results(&self) -> Result<Results> {
        let mut results = Results::new();
        read_cache_in(&self.cluster.shared().join("cache"), &mut results)?;
        Ok(results)
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.minions.iter().map(Minion::id).collect()
    }

    /// Waits until each minion answers each master that runs.
    pub(crate) fn wait_all(&self, deadline: Duration) -> Result<()> {
        for n in 0..self.cluster.masters.len() {
            self.wait_answers(n, deadline)?;
        }
        Ok(())
    }

    /// Waits until each minion answers a master; how long it took.
    pub(crate) fn wait_answers(&self, n: usize, deadline: Duration) -> Result<Duration> {
        let begun = Instant::now();
        let master = &self.cluster.masters[n];
        let mut last = String::new();
        let answered = until(
            &format!("all minions to answer m{}", n + 1),
            deadline,
            || {
                let said = master.salt(&["-t", "1", "*", "test.ping", "--out=txt"])?;
                let are_here = |id: &&str| said.stdout.contains(&format!("{id}: True"));
                let all = self.ids().iter().all(are_here);
                last = said.stdout;
                Ok(all.then_some(()))
            },
        );
        ensure!(answered.is_ok(), "{answered:?}; the last answers:\n{last}");
        Ok(begun.elapsed())
    }
}
