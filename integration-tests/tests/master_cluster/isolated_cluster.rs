//! Masters without shared files, for tests: on links, on a bus or on a store.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use halite_integration_tests::proxy::Proxy;
use halite_integration_tests::{Fleet, Kind, Master, MasterPlan, START, until};
use halite_test_services::{Nats, Postgres, Redis, Server, Wanted};
use serde_json::Value;

const POOL_PORT: u16 = 4521;
/// Where the cable from a master to the bus or the store begins, at that master's address.
const CABLE_PORT: u16 = 4523;

/// The secret by which they join.
pub(crate) const SECRET: &str = "a secret of this test";

/// Masters with directories of their own; nothing runs yet.
pub(crate) struct IsolatedCluster {
    pub(crate) masters: Vec<Master>,
    pub(crate) fleet: Fleet,
    /// What carries what they tell each other; without one, links.
    pub(crate) bus: Option<Nats>,
    /// Where all that they know is.
    pub(crate) store: Option<SharedStore>,
    /// From each master to the bus or the store, where they are to be cut.
    pub(crate) cables: Vec<Proxy>,
}

/// A server that masters keep what they know on.
pub(crate) enum SharedStore {
    Redis(Redis),
    Postgres(Postgres),
}

impl SharedStore {
    pub(crate) fn server(&self) -> &Server {
        match self {
            Self::Redis(redis) => &redis.server,
            Self::Postgres(postgres) => &postgres.server,
        }
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Redis(redis) => redis.address,
            Self::Postgres(postgres) => postgres.address,
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Postgres(postgres) => postgres.url("salt"),
        }
    }
}

impl IsolatedCluster {
    pub(crate) fn lay(count: usize) -> Result<Self> {
        Self::lay_with(count, None)
    }

    /// The same; `plan` lays a master.
    pub(crate) fn lay_planned(
        count: usize,
        plan: impl Fn(MasterPlan<'_>) -> MasterPlan<'_>,
    ) -> Result<Self> {
        let fleet = Fleet::new("isolated")?;
        let masters = lay_masters(&fleet, count, plan)?;
        Self::of(fleet, masters, (None, None), Vec::new())
    }

    /// The same on a bus, with TLS and a password; `None`, and reported, where there is
    /// no NATS server.
    pub(crate) fn lay_on_bus(count: usize) -> Result<Option<Self>> {
        let bus = Nats::for_test(&Wanted::default().password("of-the-bus").tls());
        bus.map(|bus| Self::lay_with(count, Some(bus))).transpose()
    }

    /// The same on a bus without TLS, with a cable from each master to it; `plan` lays a
    /// master.
    pub(crate) fn lay_on_cabled_bus(
        count: usize,
        plan: impl Fn(MasterPlan<'_>) -> MasterPlan<'_>,
    ) -> Result<Option<Self>> {
        let Some(bus) = Nats::for_test(&Wanted::default().password("of-the-bus")) else {
            return Ok(None);
        };
        Self::lay_cabled(count, Some(bus), None, plan).map(Some)
    }

    /// The same without a bus, on a store, with a cable from each master to it.
    pub(crate) fn lay_on_cabled_store(
        count: usize,
        store: SharedStore,
        plan: impl Fn(MasterPlan<'_>) -> MasterPlan<'_>,
    ) -> Result<Self> {
        Self::lay_cabled(count, None, Some(store), plan)
    }

    fn lay_cabled(
        count: usize,
        bus: Option<Nats>,
        store: Option<SharedStore>,
        plan: impl Fn(MasterPlan<'_>) -> MasterPlan<'_>,
    ) -> Result<Self> {
        let fleet = Fleet::new("isolated")?;
        let masters = lay_masters(&fleet, count, plan)?;
        let there = bus.as_ref().map(|bus| bus.address);
        let there = there.or_else(|| store.as_ref().map(SharedStore::address));
        let there = there.context("cables to nothing")?;
        let cables = masters.iter().map(|master| {
            let here = SocketAddr::from((master.address().ip(), CABLE_PORT));
            Proxy::from(here, there)
        });
        let cables = cables.collect::<Result<_>>()?;
        Self::of(fleet, masters, (bus, store), cables)
    }

    fn lay_with(count: usize, bus: Option<Nats>) -> Result<Self> {
        let fleet = Fleet::new("isolated")?;
        let masters = lay_masters(&fleet, count, |plan| plan)?;
        Self::of(fleet, masters, (bus, None), Vec::new())
    }

    fn of(
        fleet: Fleet,
        masters: Vec<Master>,
        (bus, store): (Option<Nats>, Option<SharedStore>),
        cables: Vec<Proxy>,
    ) -> Result<Self> {
        let count = masters.len();
        let isolated = Self {
            masters,
            fleet,
            bus,
            store,
            cables,
        };
        for n in 0..count {
            isolated.configure(n, SECRET)?;
        }
        Ok(isolated)
    }

    pub(crate) fn ip(&self, n: usize) -> String {
        self.masters[n].address().ip().to_string()
    }

    pub(crate) fn configure(&self, n: usize, secret: &str) -> Result<()> {
        let others = (0..self.masters.len()).filter(|other| *other != n);
        let peers: String = others
            .map(|other| format!("  - {}\n", self.ip(other)))
            .collect();
        let text = format!(
            "root_dir: {}\nid: {}\ncluster_id: master_cluster\ncluster_peers:\n{peers}\
             cluster_pool_port: {POOL_PORT}\ncluster_pki_dir: {}\ncluster_secret: {secret}\n\
             cluster_isolated_filesystem: True\n{}{}",
            self.fleet.path().display(),
            self.ip(n),
            self.pki(n).display(),
            self.bus_options(n),
            self.store_option(n),
        );
        let dir = self.masters[n].dir().join("master.d");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cluster.conf"), text)?;
        Ok(())
    }

    fn bus_options(&self, n: usize) -> String {
        let Some(bus) = &self.bus else {
            return String::new();
        };
        let ca = bus.tls.as_ref().map(|tls| tls.ca.display().to_string());
        let ca = ca.map_or_else(String::new, |ca| format!("cluster_bus_ca: {ca}\n"));
        let url = self.through_cable(n, bus.address, &bus.url());
        format!("cluster_bus: {url}\n{ca}")
    }

    fn store_option(&self, n: usize) -> String {
        let Some(store) = &self.store else {
            return String::new();
        };
        let url = self.through_cable(n, store.address(), &store.url());
        format!("store: {url}\n")
    }

    fn through_cable(&self, n: usize, there: SocketAddr, url: &str) -> String {
        match self.cables.get(n) {
            Some(cable) => url.replace(&there.to_string(), &cable.request().to_string()),
            None => url.to_owned(),
        }
    }

    /// The cluster's directory of one master.
    pub(crate) fn pki(&self, n: usize) -> PathBuf {
        self.masters[n].dir().join("cluster_pki")
    }

    /// Starts some of them at once, and waits until they are ready.
    pub(crate) fn start(&mut self, first: usize) -> Result<()> {
        std::thread::scope(|scope| {
            let some = self.masters.iter_mut().take(first);
            let some: Vec<_> = some.map(|one| scope.spawn(|| one.start())).collect();
            some.into_iter().try_for_each(|one| {
                one.join()
                    .unwrap_or_else(|_| Err(anyhow::anyhow!("a panic")))
            })
        })
    }

    /// The publish key that these masters have; `None` while one has none or they
    /// differ.
    pub(crate) fn publish_key(&self, masters: &[usize]) -> Result<Option<Vec<u8>>> {
        let keys = masters.iter().map(|n| fs::read(self.pki(*n).join(".aes")));
        let Ok(keys) = keys.collect::<Result<Vec<_>, _>>() else {
            return Ok(None);
        };
        let is_one = keys.windows(2).all(|pair| pair[0] == pair[1]);
        Ok(keys.into_iter().next().filter(|_| is_one))
    }

    /// The members as one of the masters shows them, by name.
    pub(crate) fn members(&self, n: usize) -> Result<Value> {
        let tools = self.masters[n].tools(Kind::Ours);
        let shown = tools.runner(&["cluster.members", "--out=json"])?.ok()?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        Ok(shown["members"].clone())
    }

    /// Waits until the masters have one secret that was made at the running cluster, and
    /// not the one before.
    pub(crate) fn wait_secret(&self, masters: &[usize], before: Option<&str>) -> Result<String> {
        let read = |n: &usize| {
            let text = fs::read_to_string(self.pki(*n).join("cluster_secret")).unwrap_or_default();
            let mut lines = text.lines().map(str::to_owned);
            lines.find_map(|line| line.strip_prefix("cluster_secret: ").map(str::to_owned))
        };
        until("one new secret", START, || {
            let all: Vec<Option<String>> = masters.iter().map(read).collect();
            let is_one = all.windows(2).all(|two| two[0] == two[1]);
            let secret = all.into_iter().next().flatten();
            Ok(secret.filter(|secret| is_one && Some(secret.as_str()) != before))
        })
    }

    /// Waits until the masters say the same about a file below their directories.
    pub(crate) fn wait_file(&self, masters: &[usize], name: &str, is_there: bool) -> Result<()> {
        let what = format!("{name} to be {}", if is_there { "there" } else { "gone" });
        until(&what, START, || {
            let is_so = |n: &usize| self.pki(*n).join(name).exists() == is_there;
            Ok(masters.iter().all(is_so).then_some(()))
        })
    }
}

/// Masters in the order of their names, which are addresses: the first one founds the
/// cluster, and a test may start only the first ones.
fn lay_masters(
    fleet: &Fleet,
    count: usize,
    plan: impl Fn(MasterPlan<'_>) -> MasterPlan<'_>,
) -> Result<Vec<Master>> {
    let lay = |n| plan(fleet.master(&format!("m{n}"), Kind::Ours)).lay();
    let mut masters = (1..=count).map(lay).collect::<Result<Vec<_>>>()?;
    masters.sort_by_key(|master| master.address().ip().to_string());
    Ok(masters)
}
