//! One minion of a herd: the product's minion with settings of its own.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use halite_crypto::{EncAlgo, HashType, SigAlgo};
use halite_minion::Minion;
use halite_minion::core::conductor::Mode;
use halite_minion::core::link::{LinkTiming, Phase};
use halite_minion::courier::Courier;
use halite_minion::limits::{JIDS_REMEMBERED_MIN, SPOOL_AGE_MAX, SPOOL_BYTES_MAX};
use halite_minion::link::channel::Patience;
use halite_minion::start::{BusPlace, Setup, Source, StartError, Started, TrustSettings, start};
use halite_proto::{IdError, Map, MinionId, Value};
use halite_transport::fleet::KeepAlive;
use thiserror::Error;
use tokio::sync::watch;

use crate::functions;
use crate::keys::{KeyPool, KeysError};
use crate::plan::Plan;
use crate::tally::{Tally, count};
use crate::thinking::Thinking;

/// Jobs that a minion runs at the same time.
const JOBS_AT_ONCE: i64 = 4;

/// Minions of one rack, as their grain `rack` says.
const RACK: u32 = 40;

/// What the grain `roles` says, in turn.
const ROLES: [&str; 4] = ["web", "db", "cache", "batch"];

/// Why a minion of the herd does not start.
#[derive(Debug, Error)]
pub enum MemberError {
    /// Its id is none.
    #[error("bad prefix")]
    Id(#[source] IdError),
    /// It has no key.
    #[error("no key")]
    Keys(#[source] KeysError),
    /// The minion itself.
    #[error("the minion does not start")]
    Start(#[source] StartError),
}

/// What all members of a herd share.
pub struct Shared {
    /// The plan.
    pub plan: Plan,
    /// Their keys.
    pub keys: KeyPool,
    /// What they have done.
    pub tally: Arc<Tally>,
    /// The grains of this machine.
    pub grains: Map,
}

/// A member that is ready to run.
pub struct Member {
    started: Started,
    spool: PathBuf,
    tally: Arc<Tally>,
    began: Instant,
    /// The number of its first link among those of the process.
    first_link: usize,
}

impl Member {
    /// Prepares the minion with this number. Blocks for some milliseconds: it
    /// reads keys and makes directories.
    ///
    /// # Errors
    /// When this machine does not have what it needs.
    pub async fn prepare(shared: &Arc<Shared>, number: u32) -> Result<Self, MemberError> {
        let began = Instant::now();
        let id = shared.plan.id(number).map_err(MemberError::Id)?;
        let dir = shared.plan.dir.join("minions").join(id.as_str());
        let pki_dir = dir.join("pki");
        let given = shared.keys.give(number, &pki_dir);
        given.map_err(MemberError::Keys)?;
        let cachedir = dir.join("cache");
        let setup = setup(shared, number, id, pki_dir, cachedir.clone());
        let started = start(setup).await.map_err(MemberError::Start)?;
        Ok(Self {
            started,
            spool: cachedir.join("returns"),
            tally: Arc::clone(&shared.tally),
            began,
            first_link: shared.plan.first_link(number),
        })
    }

    /// The minion, to be asked and to send events by.
    pub fn minion(&self) -> Arc<Minion> {
        Arc::clone(&self.started.minion)
    }

    /// Runs until `stop` resolves.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let minion = self.minion();
        let limits = halite_spool::Limits {
            bytes_max: SPOOL_BYTES_MAX,
            age_max: SPOOL_AGE_MAX,
        };
        let courier = Courier::open(Arc::clone(&minion), &self.spool, limits);
        let links = (self.first_link..).zip(&minion.masters);
        let watching: Vec<_> = links
            .map(|(link, master)| {
                let tally = Arc::clone(&self.tally);
                tokio::spawn(watch_link(link, master.phase.clone(), tally, self.began))
            })
            .collect();
        count(&self.tally.running);
        halite_minion::daemon::run(self.started, courier, true, stop).await;
        self.tally
            .running
            .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        for watching in watching {
            // It ends with the link.
            let _ = watching.await;
        }
    }
}

/// Counts when a link comes and goes, until it ends.
async fn watch_link(
    link: usize,
    mut phases: watch::Receiver<Phase>,
    tally: Arc<Tally>,
    began: Instant,
) {
    let mut since = began;
    let (mut was_ready, mut is_first) = (false, true);
    loop {
        let is_ready = *phases.borrow_and_update() == Phase::Ready;
        if is_ready && !was_ready {
            let samples = match std::mem::take(&mut is_first) {
                true => &tally.first_ready,
                false => &tally.ready_again,
            };
            samples.add(since.elapsed());
            tally.ready_once.record(link);
            count(&tally.joined);
            count(&tally.ready);
        }
        if was_ready && !is_ready {
            since = Instant::now();
            count(&tally.lost);
            tally
                .ready
                .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        }
        was_ready = is_ready;
        if phases.changed().await.is_err() {
            break;
        }
    }
    if was_ready {
        tally
            .ready
            .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn setup(
    shared: &Arc<Shared>,
    number: u32,
    id: MinionId,
    pki_dir: PathBuf,
    cachedir: PathBuf,
) -> Setup {
    let plan = &shared.plan;
    let address = plan.address(number);
    let (base, own) = (Arc::clone(shared), own_grains(&id, number, address));
    Setup {
        opts: options(plan, &id, &pki_dir, &cachedir),
        masters: plan.masters.clone(),
        cachedir,
        pki_dir,
        bus: BusPlace::Process,
        bus_framing: None,
        daemon_bus: None,
        keysize: plan.key_bits,
        owner: None,
        trust: trust(),
        mode: Mode::Hot,
        timing: timing(plan),
        auth_timeout: plan.reconnect.auth_timeout,
        patience: Patience {
            timeout: Duration::from_secs(60),
            tries: 3,
        },
        signs_messages: false,
        startup_delay: Duration::ZERO,
        source: Source {
            address,
            ..Source::default()
        },
        signature_required: false,
        publish_port: None,
        ipv6: Some(false),
        filtering: plan.filtering,
        transport: plan.transport,
        keep_alive: KeepAlive::PEER,
        reconnect: plan.reconnect.connections,
        autosign_grains: Vec::new(),
        jids_remembered: JIDS_REMEMBERED_MIN,
        collect_grains: Box::new(move |_| {
            let mut grains = base.grains.clone();
            grains.extend(own.clone());
            grains
        }),
        functions: functions::registry(),
        pace: Some(Arc::new(Thinking {
            number,
            work: plan.work,
            tally: Arc::clone(&shared.tally),
        })),
        id,
    }
}

/// What a minion believes: the first master that it meets, as Salt's do.
fn trust() -> TrustSettings {
    TrustSettings {
        signing_key: None,
        always_verify_signature: false,
        finger: None,
        hash_type: HashType::Sha256,
        open_mode: false,
        enc_algo: EncAlgo::OaepSha1,
        sig_algo: SigAlgo::Pkcs1v15Sha1,
    }
}

fn timing(plan: &Plan) -> LinkTiming {
    LinkTiming {
        acceptance_wait_time: plan.reconnect.acceptance,
        retry_first: plan.reconnect.first,
        retry_max: plan.reconnect.max,
        renew_spread: plan.reconnect.renew_spread,
        rejected_retry: true,
        ..LinkTiming::default()
    }
}

/// The options that functions ask for.
fn options(
    plan: &Plan,
    id: &MinionId,
    pki_dir: &std::path::Path,
    cachedir: &std::path::Path,
) -> Map {
    let path = |path: &std::path::Path| Value::from(path.display().to_string());
    let masters = plan
        .masters
        .iter()
        .map(|(name, _)| Value::from(name.as_str()));
    let work = Map::from([
        (
            "state_bytes",
            Value::from(i64::try_from(plan.work.state_bytes).unwrap_or(i64::MAX)),
        ),
        ("failing", plan.work.failing.into()),
    ]);
    let mine = Map::from([
        ("test.ping", Value::List(Vec::new())),
        ("grains.get", Value::List(vec!["ipv4".into()])),
    ]);
    Map::from([
        ("id", Value::from(id)),
        ("__role", "minion".into()),
        ("master", Value::List(masters.collect())),
        ("file_client", "remote".into()),
        ("cachedir", path(cachedir)),
        ("pki_dir", path(pki_dir)),
        ("extension_modules", path(&cachedir.join("extmods"))),
        ("saltenv", Value::Nil),
        ("pillarenv", Value::Nil),
        ("hash_type", "sha256".into()),
        ("process_count_max", JOBS_AT_ONCE.into()),
        ("mine_enabled", (plan.mine_interval > 0).into()),
        ("mine_interval", i64::from(plan.mine_interval).into()),
        ("mine_functions", mine.into()),
        (functions::OPTION, work.into()),
    ])
}

/// What tells a minion's grains from those of the others.
fn own_grains(id: &MinionId, number: u32, address: Option<IpAddr>) -> Map {
    let name = id.as_str();
    let role = ROLES[number as usize % ROLES.len()];
    let mut own = Map::from([
        ("id", Value::from(name)),
        ("host", name.into()),
        ("localhost", name.into()),
        ("nodename", name.into()),
        ("fqdn", format!("{name}.example").into()),
        ("roles", Value::List(vec![role.into()])),
        ("rack", format!("r{:03}", number / RACK).into()),
        ("emulated", true.into()),
    ]);
    if let Some(address) = address {
        own.insert("ipv4", Value::List(vec![address.to_string().into()]));
    }
    own
}

/// Removes what the minion with this number has kept beside its key.
pub fn forget(plan: &Plan, number: u32) {
    if let Ok(id) = plan.id(number) {
        let dir = plan.dir.join("minions").join(id.as_str());
        // What is not there need not be removed.
        let _ = fs::remove_dir_all(dir.join("cache"));
        let _ = fs::remove_file(dir.join("pki/minion_master.pub"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_tell_minions_apart() {
        let id = |text: &str| MinionId::parse(text.to_owned()).unwrap();
        let address = Some(IpAddr::from([127, 64, 0, 42]));
        let (one, other) = (
            own_grains(&id("emu00041"), 41, address),
            own_grains(&id("emu00002"), 2, None),
        );
        let text = |grains: &Map, name: &str| grains.get(name).cloned();
        assert_eq!(text(&one, "id"), Some("emu00041".into()));
        assert_eq!(text(&one, "rack"), Some("r001".into()));
        assert_eq!(text(&one, "roles"), Some(Value::List(vec!["db".into()])));
        let ipv4 = Value::List(vec!["127.64.0.42".into()]);
        assert_eq!(text(&one, "ipv4"), Some(ipv4));
        assert_eq!(text(&other, "rack"), Some("r000".into()));
        assert_eq!(
            text(&other, "roles"),
            Some(Value::List(vec!["cache".into()]))
        );
        assert_eq!(text(&other, "ipv4"), None, "that of the machine stays");
    }
}
