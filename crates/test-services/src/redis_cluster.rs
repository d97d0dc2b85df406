//! A cluster of Redis servers.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::install::find_for_test;
use crate::place::{address, free_port};
use crate::redis::{LOGS_FIRST, Redis};
use crate::wanted::Wanted;

/// Servers that take writes.
const MAINS: usize = 3;

/// Slots of a cluster.
const SLOTS: usize = 16384;

/// How long servers may take to find each other.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// For how long a server may be silent before the others miss it, in milliseconds: where
/// one is killed.
const MISSED_AFTER_MS: u32 = 1000;

/// The same where none is: on a busy machine one may be silent for long.
const NEVER_MISSED_AFTER_MS: u32 = 15_000;

/// Three servers that share the slots, and one replica of each where that is wanted.
#[derive(Debug)]
pub struct RedisCluster {
    /// Those that take writes, with the same number of slots each.
    pub mains: Vec<Redis>,
    /// Their replicas, in the same order.
    pub replicas: Vec<Redis>,
}

impl RedisCluster {
    /// The cluster that the tests of this process share, one after the other, and
    /// empty; `None`, and reported, if Redis is not installed. It must not be stopped.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn shared() -> Option<MutexGuard<'static, Self>> {
        static SHARED: OnceLock<Mutex<RedisCluster>> = OnceLock::new();
        find_for_test(&["redis-server", "redis-cli"])?;
        let start = || {
            let wanted = Wanted::default();
            Mutex::new(Self::start(&wanted, false, NEVER_MISSED_AFTER_MS).unwrap())
        };
        let shared = SHARED.get_or_init(start);
        let cluster = shared.lock().unwrap_or_else(PoisonError::into_inner);
        for main in &cluster.mains {
            main.cli(&["flushall"]).unwrap();
        }
        Some(cluster)
    }

    /// Starts one for a test that may kill its servers; `None`, and reported, if Redis is not installed.
    ///
    /// # Panics
    /// When it does not start.
    #[allow(clippy::unwrap_used)]
    pub fn for_test(wanted: &Wanted, with_replicas: bool) -> Option<Self> {
        find_for_test(&["redis-server", "redis-cli"])?;
        Some(Self::start(wanted, with_replicas, MISSED_AFTER_MS).unwrap())
    }

    fn start(wanted: &Wanted, with_replicas: bool, missed_after_ms: u32) -> Result<Self> {
        let servers = if with_replicas { 2 * MAINS } else { MAINS };
        let mut nodes = Vec::new();
        let mut wanted = wanted.clone();
        if wanted.tls {
            let args = ["--tls-cluster", "yes", "--tls-replication", "yes"];
            wanted = wanted.args(&args);
        }
        for _ in 0..servers {
            let (node, bus) = start_node(&wanted, missed_after_ms)?;
            if let Some(files) = &node.tls {
                wanted = wanted.certificates(files.clone());
            }
            nodes.push((node, bus));
        }
        for (number, (node, _)) in nodes.iter().take(MAINS).enumerate() {
            let first = number * SLOTS / MAINS;
            let last = (number + 1) * SLOTS / MAINS - 1;
            let (first, last) = (first.to_string(), last.to_string());
            said_ok(node, &["cluster", "addslotsrange", &first, &last])?;
            // Each has its own, so that they need not agree on who gives way.
            let epoch = (number + 1).to_string();
            said_ok(node, &["cluster", "set-config-epoch", &epoch])?;
        }
        let (first, others) = nodes.split_first().context("no server")?;
        for (other, bus) in others {
            let (ip, port) = (other.address.ip().to_string(), other.address.port());
            let (port, bus) = (port.to_string(), bus.to_string());
            said_ok(&first.0, &["cluster", "meet", &ip, &port, &bus])?;
        }
        let known = format!("cluster_known_nodes:{servers}");
        for (node, _) in &nodes {
            until_says(node, &["cluster", "info"], &["cluster_state:ok", &known])?;
        }
        let mut mains: Vec<Redis> = nodes.into_iter().map(|(node, _)| node).collect();
        let replicas = mains.split_off(MAINS);
        for (main, replica) in mains.iter().zip(&replicas) {
            let id = main.cli(&["cluster", "myid"])?;
            said_ok(replica, &["cluster", "replicate", id.trim()])?;
            until_says(
                replica,
                &["info", "replication"],
                &["master_link_status:up"],
            )?;
        }
        Ok(Self { mains, replicas })
    }

    /// `redis://address:port?cluster=yes`, with the other servers as members.
    pub fn url(&self) -> String {
        let url = self.mains.first().map(Redis::url).unwrap_or_default();
        let others = self.mains.iter().chain(&self.replicas).skip(1);
        let others: Vec<String> = others.map(|node| node.address.to_string()).collect();
        format!("{url}?cluster=yes&members={}", others.join(","))
    }

    /// The server that takes writes of a key.
    ///
    /// # Errors
    /// When nobody says who that is.
    pub fn main_of(&self, key: &str) -> Result<usize> {
        let first = self.mains.first().context("no server")?;
        let slot: usize = first.cli(&["cluster", "keyslot", key])?.trim().parse()?;
        let is_of = |number: &usize| slot < (number + 1) * SLOTS / MAINS;
        (0..MAINS).find(is_of).context("no such slot")
    }
}

/// A server with the port where the others reach it.
fn start_node(wanted: &Wanted, missed_after_ms: u32) -> Result<(Redis, u16)> {
    let bus = free_port()?.port();
    let (ip, text) = (address().to_string(), bus.to_string());
    let missed_after = missed_after_ms.to_string();
    // By themselves they take the address that the other end connects from.
    let args = [
        "--cluster-announce-ip",
        &ip,
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &text,
        "--cluster-node-timeout",
        &missed_after,
    ];
    let wanted = wanted.clone().args(&args).args(&LOGS_FIRST);
    Ok((Redis::start(&wanted)?, bus))
}

fn said_ok(node: &Redis, command: &[&str]) -> Result<()> {
    let said = node.cli(command)?;
    match said.trim() {
        "OK" => Ok(()),
        other => bail!("{}: {other}", command.join(" ")),
    }
}

fn until_says(node: &Redis, command: &[&str], words: &[&str]) -> Result<()> {
    let deadline = Instant::now() + WHOLE_WITHIN;
    loop {
        let said = node.cli(command)?;
        if words.iter().all(|word| said.contains(word)) {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("never {}: {said}", words.join(", "));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
