//! Three masters without shared files, or with shared ones or a store, with a cable from
//! the balancer to each of them and two between any two of them, or one from each of them
//! to a bus.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use halite_integration_tests::chaos::{Results, read_cache, read_cache_in};
use halite_integration_tests::proxy::{Cable, Proxy};
use halite_integration_tests::{
    Balancer, Fleet, FullDisk, Kind, Master, Minion, START, connected_from, until,
};
use halite_test_services::{Redis, Server, Wanted};
use serde_json::{Value, json};

use crate::cabled_bus::CabledBus;
use crate::stored::read_store;
use crate::view::view;

pub(crate) const MASTERS: usize = 3;

/// Two masters by number, for each pair there is.
pub(crate) const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

const POOL_PORT: u16 = 4522;
const HEALTH_PORT: u16 = 4516;

/// Where the cable of the n-th master to another one begins, at the address of that.
const CABLES_FROM: u16 = 4530;

/// Bytes a second on a slow link.
const SLOW: usize = 20_000;

/// The variable of each minion with the file that its commands write to.
pub(crate) const RAN: &str = "HALITE_CHAOS_RAN";

/// Below the directory that masters share.
const SHARED_PKI: &str = "pki";
const SHARED_CACHE: &str = "cache";

/// Where masters have their keys and their job caches.
#[derive(Clone, Copy)]
enum Files {
    Own,
    Shared,
}

/// Masters, minions and the cables between them.
pub(crate) struct Cabled {
    pub(crate) minions: Vec<Minion>,
    balancer: Balancer,
    /// From the balancer to each master.
    fronts: Vec<Proxy>,
    /// From the first of two masters to the second, and back, as in `PAIRS`.
    links: Vec<[Proxy; 2]>,
    bus: Option<CabledBus>,
    /// The directory of the keys and the job cache, if the masters share them.
    shared: Option<PathBuf>,
    /// While that of the keys cannot be used.
    keys_gone: Option<FullDisk>,
    pub(crate) masters: Vec<Master>,
    /// Where the masters keep their jobs and keys, and what minions tell, if it is not in
    /// files.
    store: Option<Redis>,
    fleet: Fleet,
}

impl Cabled {
    /// Starts all of it, and waits until each minion answers each master.
    pub(crate) fn start(minions: &[(String, Kind)]) -> Result<Self> {
        Self::with(minions, "")
    }

    /// The same, with further lines in the configuration of each master.
    pub(crate) fn with(minions: &[(String, Kind)], options: &str) -> Result<Self> {
        let cabled = Self::lay(minions, (options, Files::Own), |_| Ok(Some(None)))?;
        cabled.context("it is laid without a bus")
    }

    /// The same with keys and job cache in a shared directory.
    pub(crate) fn sharing(minions: &[(String, Kind)]) -> Result<Option<Self>> {
        Self::lay(minions, ("", Files::Shared), |_| Ok(Some(None)))
    }

    /// The same with a Redis that the masters share, and with such lines; `None`, and
    /// reported, where there is none.
    pub(crate) fn on_store(minions: &[(String, Kind)], options: &str) -> Result<Option<Self>> {
        let Some(redis) = Redis::for_test(&Wanted::default()) else {
            return Ok(None);
        };
        let cabled = Self::with(minions, &format!("store: {}\n{options}", redis.url()))?;
        Ok(Some(Self {
            store: Some(redis),
            ..cabled
        }))
    }

    /// The same on a bus; `None`, and reported, where there is no NATS server. One cut is
    /// enough for a master to be alone, also while it is started again and again: jobs wait
    /// for longer than they do by default.
    pub(crate) fn on_bus(minions: &[(String, Kind)]) -> Result<Option<Self>> {
        Self::lay(minions, ("job_replay_window: 120", Files::Own), |masters| {
            Ok(CabledBus::start(masters)?.map(Some))
        })
    }

    fn lay(
        minions: &[(String, Kind)],
        (options, files): (&str, Files),
        bus: impl Fn(&[Master]) -> Result<Option<Option<CabledBus>>>,
    ) -> Result<Option<Self>> {
        let fleet = Fleet::new("chaos")?;
        let lay = |n| {
            let plan = fleet.master(&format!("m{n}"), Kind::Ours);
            plan.auto_accept().set("health_port", HEALTH_PORT).lay()
        };
        let mut masters = (1..=MASTERS).map(lay).collect::<Result<Vec<_>>>()?;
        let Some(bus) = bus(&masters)? else {
            return Ok(None);
        };
        let shared = match files {
            Files::Own => None,
            Files::Shared => Some(fleet.path().join("share")),
        };
        for n in 0..MASTERS {
            let bus = bus.as_ref().map(|bus| bus.cables[n].request());
            let bus = bus.map_or_else(String::new, |at| format!("\ncluster_bus: nats://{at}"));
            let own = files_options(&masters[n], shared.as_deref());
            configure(&fleet, &masters, n, &format!("{own}{options}{bus}"))?;
        }
        let names = masters.iter().map(|of| of.address().ip().to_string());
        let founder = names.enumerate().min_by(|one, other| one.1.cmp(&other.1));
        let (founder, _) = founder.context("no master was laid")?;
        // It founds a cluster where nobody listens: the cables would.
        masters[founder].start()?;
        let links = PAIRS
            .map(|(one, other)| Ok([link(&masters, one, other)?, link(&masters, other, one)?]));
        let links = links.into_iter().collect::<Result<Vec<_>>>()?;
        for (n, master) in masters.iter_mut().enumerate() {
            if n != founder {
                master.start()?;
            }
        }
        let fronts = masters.iter().map(front).collect::<Result<Vec<_>>>()?;
        let backends = fronts.iter().map(Proxy::address);
        let backends = backends.collect::<Result<Vec<_>>>()?;
        let balancer = Balancer::start(&fleet, &backends, Some(HEALTH_PORT))?;
        let minions = minions.iter().map(|(id, kind)| {
            let ran = fleet.path().join(id).join("ran");
            let plan = fleet.minion(id, *kind);
            let plan = plan
                .set("master", balancer.address.request().to_string())
                .set("publish_port", balancer.address.publish().port())
                .set("mine_enabled", false)
                // What Salt's minions have by themselves.
                .set("return_retry_timer", 5)
                .set("return_retry_timer_max", 10)
                .env(RAN, &ran.display().to_string());
            plan.start()
        });
        let minions = minions.collect::<Result<Vec<_>>>()?;
        let cabled = Self {
            minions,
            balancer,
            fronts,
            links,
            bus,
            shared,
            keys_gone: None,
            masters,
            store: None,
            fleet,
        };
        cabled.wait_answers()?;
        Ok(Some(cabled))
    }

    /// Changes the cable between the balancer and a master.
    pub(crate) fn set_front(&self, which: usize, cable: Cable) {
        self.fronts[which].set(cable);
    }

    /// Changes the links between two masters, or the cable of one to the bus.
    pub(crate) fn set_links(&self, which: usize, cable: Cable) {
        self.between(which).iter().for_each(|link| link.set(cable));
    }

    /// Has them be slow, or as fast as can be.
    pub(crate) fn set_slow(&self, which: usize, is_slow: bool) {
        let pace = if is_slow { SLOW } else { 0 };
        self.between(which)
            .iter()
            .for_each(|link| link.set_pace(pace));
    }

    /// What leads from one master to others.
    fn between(&self, which: usize) -> &[Proxy] {
        match &self.bus {
            Some(bus) => &bus.cables[which..=which],
            None => &self.links[which],
        }
    }

    /// What carries what masters tell each other, if it is not their links.
    pub(crate) fn bus(&self) -> Option<&Server> {
        self.bus.as_ref().map(|bus| &bus.nats.server)
    }

    /// The server of the store that the masters share, if they have one.
    pub(crate) fn store(&self) -> Option<&Server> {
        self.store.as_ref().map(|redis| &redis.server)
    }

    /// Has the directory of the keys, which all share, be one that cannot be used; false if
    /// each has its own.
    pub(crate) fn lose_keys(&mut self) -> Result<bool> {
        let Some(shared) = &self.shared else {
            return Ok(false);
        };
        self.keys_gone = Some(FullDisk::at(&shared.join(SHARED_PKI))?);
        Ok(true)
    }

    /// Has it be as before.
    pub(crate) fn find_keys(&mut self) -> Result<()> {
        self.keys_gone.take().map_or(Ok(()), FullDisk::mend)
    }

    /// The minions of Salt whose publish connection leads through the cable to a master,
    /// or that have none at this moment.
    pub(crate) fn salts_on(&self, front: usize) -> Result<Vec<usize>> {
        let to = self.balancer.address.publish();
        let routes = self.balancer.publish_routes()?;
        let mut found = Vec::new();
        for (n, minion) in self.minions.iter().enumerate() {
            if minion.kind() == Kind::Ours {
                continue;
            }
            let ends = connected_from(&minion.processes()?, to)?;
            let mut routes = ends.iter().filter_map(|end| routes.get(end)).peekable();
            if routes.peek().is_none() || routes.any(|route| *route == front) {
                found.push(n);
            }
        }
        Ok(found)
    }

    /// Every result in every job cache.
    pub(crate) fn results(&self) -> Result<Results> {
        let mut results = Results::new();
        match (&self.store, &self.shared) {
            (Some(redis), _) => read_store(redis, &mut results)?,
            (None, Some(shared)) => read_cache_in(&shared.join(SHARED_CACHE), &mut results)?,
            (None, None) => {
                for master in &self.masters {
                    read_cache(master, &mut results)?;
                }
            }
        }
        Ok(results)
    }

    fn pki_of(&self, master: &Master) -> PathBuf {
        let shared = self.shared.as_ref().map(|shared| shared.join(SHARED_PKI));
        shared.unwrap_or_else(|| master.dir().join("cluster_pki"))
    }

    /// Bytes that have passed between masters so far.
    pub(crate) fn passed(&self) -> usize {
        let links = self.links.iter().flatten();
        links.map(Proxy::passed_to_master).sum()
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.minions.iter().map(Minion::id)
    }

    /// Waits until each minion answers each master.
    fn wait_answers(&self) -> Result<()> {
        for (n, master) in self.masters.iter().enumerate() {
            let mut last = String::new();
            let answered = until(&format!("all minions to answer m{}", n + 1), START, || {
                let said = master.salt(&["-t", "1", "*", "test.ping", "--out=txt"])?;
                let is_here = |id: &str| said.stdout.contains(&format!("{id}: True"));
                let all = self.ids().all(is_here);
                last = said.stdout;
                Ok(all.then_some(()))
            });
            answered.with_context(|| format!("the last answers:\n{last}"))?;
        }
        Ok(())
    }

    /// Waits until the masters are of one mind: about who is a member and connected,
    /// about the publish key, and about the keys of minions; and minions answer all.
    pub(crate) fn wait_agreed(&self) -> Result<()> {
        let keys = self.wait_of_one_mind()?;
        let mut ids: Vec<&str> = self.ids().collect();
        ids.sort_unstable();
        ensure!(keys == Some(json!(ids)), "{keys:?}");
        self.wait_answers()
    }

    /// Waits until the masters are of one mind; the minions whose keys they have.
    pub(crate) fn wait_of_one_mind(&self) -> Result<Option<Value>> {
        let mut last = Vec::new();
        let agreed = until("the masters to agree", START, || {
            let views = self.masters.iter().map(|of| view(of, &self.pki_of(of)));
            last = views.collect::<Result<Vec<Value>>>()?;
            let is_one = last.windows(2).all(|two| two[0] == two[1]);
            let is_whole = last.iter().all(|view| view["linked"] == MASTERS);
            Ok((is_one && is_whole).then_some(()))
        });
        agreed.with_context(|| format!("{last:#?}"))?;
        Ok(last.first().map(|view| view["minions"].clone()))
    }

    /// Checks that no program of ours has died half-way through something.
    pub(crate) fn check_no_panic(&self) -> Result<()> {
        for entry in fs::read_dir(self.fleet.path())?.flatten() {
            let said = fs::read(entry.path().join("console")).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            ensure!(
                !said.contains("panicked at"),
                "{}: {said}",
                entry.path().display()
            );
        }
        Ok(())
    }
}

fn configure(fleet: &Fleet, masters: &[Master], n: usize, options: &str) -> Result<()> {
    let from = CABLES_FROM + u16::try_from(n)?;
    let ip = |n: usize| masters[n].address().ip();
    let others = (0..MASTERS).filter(|other| *other != n);
    let peers: String = others
        .map(|other| format!("  - {}:{from}\n", ip(other)))
        .collect();
    let dir = masters[n].dir();
    let text = format!(
        "root_dir: {}\nid: {}\ncluster_id: chaos\ncluster_peers:\n{peers}\
         cluster_pool_port: {POOL_PORT}\ncluster_drain_time: 1\n{options}\n",
        fleet.path().display(),
        ip(n),
    );
    fs::create_dir_all(dir.join("master.d"))?;
    fs::write(dir.join("master.d/cluster.conf"), text)?;
    Ok(())
}

/// Where a master has its keys and its job cache.
fn files_options(master: &Master, shared: Option<&Path>) -> String {
    match shared {
        Some(shared) => format!(
            "cluster_pki_dir: {}\ncachedir: {}\n",
            shared.join(SHARED_PKI).display(),
            shared.join(SHARED_CACHE).display()
        ),
        None => format!(
            "cluster_pki_dir: {}\ncluster_secret: chaos\ncluster_isolated_filesystem: True\n",
            master.dir().join("cluster_pki").display()
        ),
    }
}

/// The cable on which a master dials another one.
fn link(masters: &[Master], from: usize, to: usize) -> Result<Proxy> {
    let ip = masters[to].address().ip();
    let here = SocketAddr::new(ip.into(), CABLES_FROM + u16::try_from(from)?);
    Proxy::from(here, SocketAddr::new(ip.into(), POOL_PORT))
}

/// The cable on which the balancer reaches a master, its health included.
fn front(master: &Master) -> Result<Proxy> {
    let mut front = Proxy::before(master)?;
    let here = SocketAddr::new(front.address()?.ip().into(), HEALTH_PORT);
    let there = SocketAddr::new(master.address().ip().into(), HEALTH_PORT);
    front.carry_too(here, there)?;
    Ok(front)
}
