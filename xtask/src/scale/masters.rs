//! The masters that a fleet is measured with: one, several that each minion has in
//! its list, or a cluster behind balancers.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use halite_integration_tests::{Address, Balancer, Fleet, HAPROXY, Kind, Master};
use halite_test_services::{Nats, Wanted};

/// Bytes of the file that all minions fetch.
const FILE_BYTES: usize = 10_000;

/// A pillar that is compiled for each minion.
const PILLAR_TOP: &str = "base:\n  '*':\n    - accounts\n";
const PILLAR: &str = "accounts:\n{% for number in range(20) %}  \
    account{{ number }}-of-{{ grains['id'] }}:\n    uid: {{ 2000 + number }}\n    \
    shell: /bin/bash\n    home: /home/{{ grains['host'] }}/account{{ number }}\n{% endfor %}";

/// The port for peers: each master has an address of its own.
const POOL_PORT: u16 = 4520;

/// Minions of one haproxy: it has two connections to each side for each of them, and
/// some more while they make several requests at once.
const BALANCED_MAX: u32 = 3000;

/// Connections of one haproxy.
const CONNECTIONS_MAX: u32 = 9000;

/// How several masters belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Layout {
    /// Each minion has all of them in its list
    List,
    /// A cluster behind haproxy, whose masters are linked with each other
    Mesh,
    /// A cluster behind haproxy, whose masters are connected to a NATS server
    Nats,
}

impl Layout {
    /// What its column in a table is called.
    pub(super) fn title(self, masters: u32) -> String {
        match (self, masters) {
            (Self::List, 1) => "1 master".to_owned(),
            (Self::List, _) => format!("{masters} masters"),
            (Self::Mesh, _) => format!("a cluster of {masters}"),
            (Self::Nats, _) => format!("a cluster of {masters} on NATS"),
        }
    }
}

/// Masters of one fleet.
pub(super) struct Masters {
    pub(super) all: Vec<Master>,
    layout: Layout,
    balancers: Vec<Balancer>,
    /// Ends after the masters.
    bus: Option<Nats>,
}

impl Masters {
    /// Starts them, for so many minions.
    pub(super) fn start(fleet: &Fleet, layout: Layout, count: u32, minions: u32) -> Result<Self> {
        let bus = match layout {
            Layout::Nats => Some(Nats::start(&Wanted::default().password("of-the-bus"))?),
            Layout::List | Layout::Mesh => None,
        };
        let mut masters = Self {
            all: Vec::new(),
            layout,
            balancers: Vec::new(),
            bus,
        };
        for n in 1..=count {
            let plan = fleet.master(&format!("m{n}"), Kind::Ours).auto_accept();
            let plan = plan
                .set("max_open_files", 200_000)
                .set("log_level_logfile", "error")
                .file("probe.txt", &"x".repeat(FILE_BYTES));
            // Masters of one list have one key pair.
            let plan = match (layout, masters.all.first()) {
                (Layout::List, Some(first)) => plan.key_pair_of(first),
                _ => plan,
            };
            let mut master = plan.lay()?;
            let pillar = master.dir().join("pillar");
            fs::write(pillar.join("top.sls"), PILLAR_TOP)?;
            fs::write(pillar.join("accounts.sls"), PILLAR)?;
            if layout == Layout::List {
                master.start_on_ports()?;
            }
            masters.all.push(master);
        }
        if layout != Layout::List {
            masters.form_cluster(fleet, minions)?;
        }
        Ok(masters)
    }

    fn form_cluster(&mut self, fleet: &Fleet, minions: u32) -> Result<()> {
        ensure!(self.all.len() > 1, "one master is no cluster: --masters");
        let bus = self
            .bus
            .as_ref()
            .map(|bus| format!("cluster_bus: {}\n", bus.url()));
        let bus = bus.unwrap_or_default();
        // The first one by name founds the cluster, and the others join it.
        let ip = |master: &Master| master.address().ip().to_string();
        self.all.sort_by_key(ip);
        let ips: Vec<String> = self.all.iter().map(ip).collect();
        for (master, ip) in self.all.iter().zip(&ips) {
            let peers = ips.iter().filter(|peer| *peer != ip);
            let peers: String = peers.map(|peer| format!("  - {peer}\n")).collect();
            let text = format!(
                "id: {ip}\ncluster_id: scale\ncluster_peers:\n{peers}\
                 cluster_pool_port: {POOL_PORT}\ncluster_pki_dir: {}\n\
                 cluster_secret: of this measurement\ncluster_isolated_filesystem: True\n{bus}",
                master.dir().join("cluster_pki").display()
            );
            let dir = master.dir().join("master.d");
            fs::create_dir_all(&dir)?;
            fs::write(dir.join("cluster.conf"), text)?;
        }
        for master in &mut self.all {
            master.start_on_ports()?;
        }
        for n in 0..minions.div_ceil(BALANCED_MAX) {
            let backends: Vec<&Address> = self.all.iter().map(Master::address).collect();
            let name = format!("{HAPROXY}{n}");
            let named = (name.as_str(), CONNECTIONS_MAX);
            let balancer = Balancer::start_for(fleet, named, &backends, None)?;
            self.balancers.push(balancer);
        }
        Ok(())
    }

    /// Links of one minion.
    pub(super) fn links(&self) -> u32 {
        match self.layout {
            Layout::List => u32::try_from(self.all.len()).unwrap_or(u32::MAX),
            Layout::Mesh | Layout::Nats => 1,
        }
    }

    /// What the minions of one process have in their list.
    pub(super) fn list(&self, process: usize) -> Vec<&Address> {
        match self.layout {
            Layout::List => self.all.iter().map(Master::address).collect(),
            Layout::Mesh | Layout::Nats => {
                let balancer = &self.balancers[process % self.balancers.len()];
                vec![&balancer.address]
            }
        }
    }

    /// Processor time of all of them that run, so far, in seconds.
    pub(super) fn cpu(&mut self) -> Result<f64> {
        let running = self.all.iter_mut();
        let pids = running.filter_map(|master| master.daemon().pid().ok());
        pids.map(processor_time).sum()
    }

    /// Bytes that have been sent on the connections between the masters, or to and from
    /// their server, which sends each message once more. Nothing where there are no such
    /// connections, or no `ss`.
    pub(super) fn traffic(&self) -> Option<u64> {
        let port = match self.layout {
            Layout::List => return None,
            Layout::Mesh => POOL_PORT,
            Layout::Nats => self.bus.as_ref()?.address.port(),
        };
        let filter = format!("sport = :{port} or dport = :{port}");
        let output = Command::new("ss")
            .args(["-tinHO", "state", "established", &filter])
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(sent_bytes(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Memory that each has written itself, in KiB.
    pub(super) fn own_kib(&self) -> Result<Vec<f64>> {
        let all = self.all.iter();
        all.map(|master| Ok(master.own_memory_kib()? as f64))
            .collect()
    }

    /// The most descriptors that one has open.
    pub(super) fn descriptors(&mut self) -> Result<usize> {
        let mut most = 0;
        for master in &mut self.all {
            let pid = master.daemon().pid()?;
            most = most.max(fs::read_dir(format!("/proc/{pid}/fd"))?.count());
        }
        Ok(most)
    }
}

/// Processor time of a process so far, in seconds.
pub(super) fn processor_time(pid: i32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program may have anything in it.
    let (_, rest) = stat.rsplit_once(')').context("a stat without a name")?;
    let fields = rest.split_ascii_whitespace().skip(11).take(2);
    let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// What `ss -i` says has been sent on all connections: each end is a line of its own.
fn sent_bytes(text: &str) -> u64 {
    let words = text.split_ascii_whitespace();
    let sent = words.filter_map(|word| word.strip_prefix("bytes_sent:"));
    sent.filter_map(|bytes| bytes.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_ends_have_sent_is_added() {
        let text = "0 0 127.0.0.1:4520 127.0.0.2:9 cubic bytes_sent:100 bytes_acked:100\n\
            0 0 127.0.0.2:9 127.0.0.1:4520 cubic bytes_received:100 bytes_sent:23\n";
        assert_eq!(sent_bytes(text), 123);
    }
}
