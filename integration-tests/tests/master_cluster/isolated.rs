//! Masters that share no files: a new one joins, and what is decided about keys
//! at one of them is so at all.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use halite_integration_tests::proxy::Proxy;
use halite_integration_tests::{Fleet, Kind, Master, MasterPlan, START, until};
use halite_test_services::{Nats, Postgres, Redis, Server, Wanted};
use serde_json::Value;

const POOL_PORT: u16 = 4521;
/// Where the cable from a master to the bus or the store begins, at that master's address.
const CABLE_PORT: u16 = 4523;

const SECRET: &str = "a secret of this test";

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
        let lay = |n| plan(fleet.master(&format!("m{n}"), Kind::Ours)).lay();
        let masters = (1..=count).map(lay).collect::<Result<Vec<_>>>()?;
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
        let lay = |n| fleet.master(&format!("m{n}"), Kind::Ours).lay();
        let masters = (1..=count).map(lay).collect::<Result<Vec<_>>>()?;
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

    fn configure(&self, n: usize, secret: &str) -> Result<()> {
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
    fn publish_key(&self, masters: &[usize]) -> Result<Option<Vec<u8>>> {
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
    fn wait_secret(&self, masters: &[usize], before: Option<&str>) -> Result<String> {
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

#[test]
fn what_is_decided_at_one_master_is_so_at_all_and_a_deleted_key_stays_deleted() -> Result<()> {
    decide_at_one(IsolatedCluster::lay(3)?)
}

#[test]
fn what_is_decided_at_one_master_is_so_at_all_over_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), decide_at_one)
}

fn decide_at_one(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.start(3)?;
    let all = [0, 1, 2];
    for n in all {
        let key = fs::read(isolated.pki(n).join("cluster.pub"))?;
        ensure!(
            key == fs::read(isolated.pki(0).join("cluster.pub"))?,
            "m{n}"
        );
    }
    let minion = isolated
        .fleet
        .minion("web1", Kind::Ours)
        .of(&isolated.masters[2]);
    let mut minion = minion.start()?;
    isolated.wait_file(&all, "minions_pre/web1", true)?;
    isolated.masters[1].key(&["-y", "-a", "web1"])?.ok()?;
    isolated.wait_file(&all, "minions/web1", true)?;
    for master in &isolated.masters {
        until("web1 to answer", START, || {
            let said = master.salt(&["-t", "1", "web1", "test.ping", "--out=txt"])?;
            Ok(said.stdout.contains("web1: True").then_some(()))
        })?;
    }
    minion.stop()?;
    let before = fs::read(isolated.pki(0).join(".aes"))?;
    isolated.masters[0].kill9()?;
    isolated.masters[2].key(&["-y", "-d", "web1"])?.ok()?;
    isolated.wait_file(&[1, 2], "minions/web1", false)?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[1, 2])?;
        Ok(key.filter(|key| *key != before))
    })?;
    ensure!(isolated.pki(0).join("minions/web1").exists(), "m1 was down");
    isolated.masters[0].start()?;
    isolated.wait_file(&all, "minions/web1", false)?;
    // They are of one mind about the publish key too, which is a new one, and the key
    // of the minion does not come back meanwhile.
    until("one publish key", START, || {
        for n in all {
            let key = isolated.pki(n).join("minions/web1");
            ensure!(!key.exists(), "the deleted key is back at m{}", n + 1);
        }
        let key = isolated.publish_key(&all)?;
        Ok(key.filter(|key| *key != before))
    })?;
    Ok(())
}

#[test]
fn an_old_publish_key_in_a_file_does_not_become_that_of_the_cluster() -> Result<()> {
    let mut isolated = IsolatedCluster::lay(2)?;
    isolated.start(2)?;
    let old = fs::read(isolated.pki(0).join(".aes"))?;
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.rotate_keys"])?.ok()?;
    let new = until("the new publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != old))
    })?;
    // As after a crash, or a full disk, between the registers and the file.
    isolated.masters[0].kill9()?;
    let file = isolated.pki(0).join(".aes");
    fs::write(&file, &old)?;
    isolated.masters[0].start()?;
    ensure!(fs::read(&file)? == new, "the registers have the new key");
    // What m2 hears of a minion at m1 comes behind all that m1 has to say.
    let minion = isolated
        .fleet
        .minion("web1", Kind::Ours)
        .of(&isolated.masters[0]);
    let mut minion = minion.start()?;
    isolated.wait_file(&[0, 1], "minions_pre/web1", true)?;
    minion.stop()?;
    for n in [0, 1] {
        let found = fs::read(isolated.pki(n).join(".aes"))?;
        ensure!(found == new, "m{} has another publish key", n + 1);
    }
    Ok(())
}

#[test]
fn a_publish_key_that_is_too_old_is_replaced_by_one_master_for_all() -> Result<()> {
    let mut isolated = IsolatedCluster::lay(2)?;
    for master in &isolated.masters {
        let text = "publish_session: 8\nloop_interval: 1\n";
        fs::write(master.dir().join("master.d/session.conf"), text)?;
    }
    isolated.start(2)?;
    let first = until("one publish key", START, || isolated.publish_key(&[0, 1]))?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != first))
    })?;
    let made = |n: usize| -> Result<usize> {
        let log = fs::read_to_string(isolated.masters[n].dir().join("log"))?;
        Ok(log.matches("made a new publish key").count())
    };
    // The other one may have the key before the first one's log has the line.
    until("the first by name to say so", START, || {
        Ok((made(0)? > 0).then_some(()))
    })?;
    ensure!(made(1)? == 0, "the other one makes one too");
    Ok(())
}

#[test]
fn a_wrong_secret_is_refused_and_a_removed_master_is_cut_off() -> Result<()> {
    refuse_and_remove(IsolatedCluster::lay(3)?)
}

#[test]
fn a_wrong_secret_is_refused_and_a_removed_master_is_cut_off_from_a_bus() -> Result<()> {
    IsolatedCluster::lay_on_bus(3)?.map_or(Ok(()), refuse_and_remove)
}

fn refuse_and_remove(mut isolated: IsolatedCluster) -> Result<()> {
    isolated.configure(2, "another secret")?;
    isolated.start(2)?;
    isolated.masters[2].daemon().start()?;
    let log = isolated.masters[2].dir().join("log");
    until("the refusal", START, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(said.contains("`cluster_secret` differs").then_some(()))
    })?;
    isolated.masters[2].stop()?;
    let file = format!("peers/{}.pub", isolated.ip(2));
    ensure!(!isolated.pki(0).join(&file).exists(), "it was taken in");
    ensure!(
        !isolated.pki(2).join("cluster.pem").exists(),
        "it has a key"
    );
    isolated.configure(2, SECRET)?;
    isolated.masters[2].start()?;
    isolated.wait_file(&[0, 1], &file, true)?;
    let before = fs::read(isolated.pki(0).join(".aes"))?;
    let ip = isolated.ip(2);
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.remove", &ip])?.ok()?;
    isolated.wait_file(&[0, 1], &file, false)?;
    until("another publish key", START, || {
        let key = isolated.publish_key(&[0, 1])?;
        Ok(key.filter(|key| *key != before).map(|_| ()))
    })?;
    // Neither side holds a link to the other.
    for n in [0, 1] {
        let members = isolated.members(n)?;
        ensure!(members.get(&ip).is_none(), "m{}: {members:?}", n + 1);
        let is_linked = |n: usize| members[&isolated.ip(n)]["connected"] == true;
        ensure!(is_linked(0) && is_linked(1), "{members:?}");
    }
    until("the removed master to have no link", START, || {
        let members = isolated.members(2)?;
        let is_linked = |n: usize| members[&isolated.ip(n)]["connected"] != false;
        Ok((!is_linked(0) && !is_linked(1)).then_some(()))
    })?;
    ensure!(
        fs::read(isolated.pki(2).join(".aes"))? == before,
        "the removed master has the new publish key"
    );
    // Nor does it know by what masters join from now on.
    isolated.wait_secret(&[0, 1], None)?;
    ensure!(
        !isolated.pki(2).join("cluster_secret").exists(),
        "the removed master has the new secret"
    );
    Ok(())
}

#[test]
fn a_new_secret_reaches_all_members_and_those_with_the_old_one_are_refused() -> Result<()> {
    let mut isolated = IsolatedCluster::lay(3)?;
    isolated.start(2)?;
    // One is away when it is made.
    isolated.masters[1].kill9()?;
    let tools = isolated.masters[0].tools(Kind::Ours);
    let said = tools.runner(&["cluster.rotate_secret"])?.ok()?;
    let first = isolated.wait_secret(&[0], None)?;
    ensure!(!format!("{said}").contains(&first), "the secret is shown");
    let file = isolated.pki(0).join("cluster_secret");
    ensure!(said.stdout.contains(&file.display().to_string()), "{said}");
    let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "{mode:o}");
    isolated.masters[1].start()?;
    isolated.wait_secret(&[0, 1], None)?;
    // Made by the other one, it is later all the same.
    let tools = isolated.masters[1].tools(Kind::Ours);
    tools.runner(&["cluster.rotate_secret"])?.ok()?;
    let secret = isolated.wait_secret(&[0, 1], Some(&first))?;
    for n in [0, 1] {
        isolated.masters[n].kill9()?;
    }
    for n in [0, 1] {
        isolated.masters[n].start()?;
    }
    isolated.masters[2].daemon().start()?;
    let log = isolated.masters[2].dir().join("log");
    until("the refusal", START, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(said.contains("`cluster_secret` differs").then_some(()))
    })?;
    isolated.masters[2].stop()?;
    let file = format!("peers/{}.pub", isolated.ip(2));
    ensure!(!isolated.pki(0).join(&file).exists(), "it was taken in");
    isolated.configure(2, &secret)?;
    isolated.masters[2].start()?;
    isolated.wait_file(&[0, 1], &file, true)?;
    let status = isolated.masters[2].tools(Kind::Ours);
    until("the joiner to hear when it was made", START, || {
        let shown = status.runner(&["cluster.status", "--out=json"])?.ok()?;
        let shown: Value = serde_json::from_str(&shown.stdout)?;
        Ok((shown["secret"]["by"] == isolated.ip(1)).then_some(()))
    })
}
