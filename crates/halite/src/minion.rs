//! From a minion's configuration to the settings of the minion crate.

mod sockets;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use halite_call::extensions;
use halite_config::{BusFraming, MasterAddress, MasterType, MinionConfig};
use halite_crypto::{EncAlgo, HashType, SigAlgo};
use halite_fileserver::{FileServer, FileServerOptions, GitfsOptions, RootsOptions};
use halite_grains::{GrainsOptions, Kept, Want};
use halite_minion::core::conductor::{Mode, distributed_order};
use halite_minion::core::link::{LinkTiming, RETRY_FIRST};
use halite_minion::link::channel::Patience;
use halite_minion::start::{BusPlace, Setup, TrustSettings};
use halite_proto::{Map, MasterUri};
use halite_transport::ipc::Framing;

pub use self::sockets::bus_endpoints;
use self::sockets::{bus, keep_alive, source};
use crate::master_function;

/// How often a lost first master is asked for when no option says.
const FAILBACK_INTERVAL: Duration = Duration::from_secs(30);

/// Longest pause between tries to reach a master that does not answer,
/// whatever `acceptance_wait_time` says: shorter than `salt` waits for a minion.
const RETRY_MAX: Duration = Duration::from_secs(4);
/// And the shortest that it may be.
const RETRY_MAX_MIN: Duration = Duration::from_secs(1);

/// How often `salt-call` pings the masters that it is signed in to: without a
/// subscription it does not notice their end.
const CALL_ALIVE_INTERVAL: Duration = Duration::from_secs(2);

/// The setup of a minion. The local bus has sockets only for a daemon.
///
/// # Errors
/// When options do not fit each other.
pub fn setup(config: &MinionConfig, is_daemon: bool) -> Result<Setup> {
    setup_with(config, is_daemon, masters(config)?)
}

/// What options mean together that does not fit, all of it, without running
/// anything.
pub fn check(config: &MinionConfig) -> Vec<anyhow::Error> {
    let masters = match config.master_type {
        // Who that would be, only the function knows.
        MasterType::Func => Ok(Vec::new()),
        _ => masters(config),
    };
    let (masters, no_masters) = match masters {
        Ok(masters) => (masters, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let parts = [
        extensions::engines(&config.engines.0)
            .map(drop)
            .map_err(anyhow::Error::msg),
        halite_minion::daemon::telemetry::check(&config.metrics).map_err(anyhow::Error::from),
        bus(config, &masters).map(drop),
        trust(config).map(drop),
        source(config).map(drop),
        mode(config, masters.len()).map(drop),
    ];
    let mut faults: Vec<_> = no_masters.into_iter().collect();
    faults.extend(parts.into_iter().filter_map(Result::err));
    // What is left, where nothing of this is in its way.
    if faults.is_empty() {
        faults.extend(setup_with(config, true, masters).err());
    }
    faults
}

fn setup_with(
    config: &MinionConfig,
    is_daemon: bool,
    masters: Vec<(String, MasterUri)>,
) -> Result<Setup> {
    let seconds = |seconds: halite_config::Seconds| seconds.duration();
    let opts = config.opts().clone();
    Ok(Setup {
        id: config.minion_id()?,
        bus: if is_daemon {
            bus(config, &masters)?
        } else {
            BusPlace::Process
        },
        bus_framing: match config.event_bus_framing {
            BusFraming::Auto => None,
            BusFraming::Bare => Some(Framing::Bare),
            BusFraming::Prefixed => Some(Framing::Prefixed),
        },
        daemon_bus: match is_daemon {
            true => None,
            false => bus_endpoints(config).ok(),
        },
        cachedir: config.cachedir.clone(),
        pki_dir: config.pki_dir.clone(),
        keysize: u32::try_from(config.keysize).context("bad option `keysize`")?,
        owner: None,
        trust: trust(config)?,
        timing: timing(config, is_daemon),
        signs_messages: config.minion_sign_messages,
        startup_delay: match is_daemon {
            true => seconds(config.random_startup_delay),
            false => Duration::ZERO,
        },
        source: source(config)?,
        auth_timeout: seconds(config.auth_timeout),
        patience: Patience {
            timeout: seconds(config.request_channel_timeout),
            tries: u32::try_from(config.request_channel_tries).unwrap_or(u32::MAX),
        },
        signature_required: config.sign_pub_messages,
        // Salt compares with 4506, by mistake; a port that is set is meant.
        publish_port: config.publish_port.map(|port| port.0),
        ipv6: config.ipv6,
        filtering: config.zmq_filtering,
        transport: config.transport,
        keep_alive: keep_alive(config),
        reconnect: (
            Duration::from_millis(config.recon_default),
            Duration::from_millis(config.recon_max),
        ),
        autosign_grains: config.autosign_grains.0.clone(),
        jids_remembered: usize::try_from(config.minion_jid_queue_hwm).unwrap_or(usize::MAX),
        collect_grains: collect_grains(&opts),
        mode: mode(config, masters.len())?,
        masters,
        opts,
        functions: halite_state_run::registry(),
        pace: None,
    })
}

/// Collects the grains, users' own among them, or takes those of the cache.
fn collect_grains(opts: &Map) -> Box<dyn Fn(Want) -> Map + Send + Sync> {
    let (options, kept) = (GrainsOptions::from_opts(opts), Kept::from_opts(opts));
    let opts = opts.clone();
    Box::new(move |want| {
        let collect = || {
            let users =
                |others: &Map| extensions::grains(&opts, halite_state_run::registry(), others);
            halite_grains::collect_with(&options, users)
        };
        match &kept {
            Some(kept) => kept.grains(want, SystemTime::now(), collect),
            None => collect(),
        }
    })
}

/// How links behave over time. Pauses of ours are shorter than Salt's: options
/// that are set win.
fn timing(config: &MinionConfig, is_daemon: bool) -> LinkTiming {
    let seconds = |seconds: halite_config::Seconds| seconds.duration();
    let retry_max = seconds(config.acceptance_wait_time).clamp(RETRY_MAX_MIN, RETRY_MAX);
    let set = |name: &str, millis: u64, ours: Duration| match config.is_set(name) {
        true => Duration::from_millis(millis),
        false => ours,
    };
    let alive_interval = match seconds(config.master_alive_interval) {
        Duration::ZERO => (!is_daemon).then_some(CALL_ALIVE_INTERVAL),
        interval => Some(interval),
    };
    LinkTiming {
        acceptance_wait_time: seconds(config.acceptance_wait_time),
        acceptance_wait_time_max: seconds(config.acceptance_wait_time_max),
        retry_first: set("recon_default", config.recon_default, RETRY_FIRST),
        retry_max: set("recon_max", config.recon_max, retry_max),
        spread: config.recon_randomize,
        retry_dns: Some(seconds(config.retry_dns))
            .filter(|pause| config.is_set("retry_dns") && !pause.is_zero()),
        retry_dns_count: config.retry_dns_count,
        sign_in_tries: sign_in_tries(config, is_daemon),
        renew_spread: config.random_reauth_delay.map(seconds).unwrap_or_default(),
        rejected_retry: config.rejected_retry,
        subscribes: is_daemon,
        alive_interval,
    }
}

/// Sign-ins without an answer before the next master's turn. Salt's default of
/// seven would keep a minion from its other masters for half a minute, so that
/// only what is set counts.
fn sign_in_tries(config: &MinionConfig, is_daemon: bool) -> u32 {
    let one_at_a_time = !matches!(
        config.master_type,
        MasterType::Str | MasterType::Func | MasterType::Disable
    );
    match is_daemon && one_at_a_time && config.is_set("auth_tries") {
        true => u32::try_from(config.auth_tries).unwrap_or(u32::MAX),
        false => 1,
    }
}

/// How long `salt-call` may try to sign in: no longer than `patience`, and no more often
/// than `auth_tries` and `master_tries` allow.
pub fn sign_in_patience(config: &MinionConfig, patience: Duration) -> Duration {
    let tries = u32::try_from(config.auth_tries).unwrap_or(u32::MAX);
    let rounds = u32::try_from(config.master_tries).unwrap_or(0);
    let by_tries = config.auth_timeout.duration().saturating_mul(tries);
    match (tries, rounds) {
        // As in Salt, no tries are no bound.
        (0, _) => patience,
        (_, 0) => patience.min(by_tries),
        (_, rounds) => patience.min(by_tries.saturating_mul(rounds)),
    }
}

/// `master_type` and what belongs to it.
fn mode(config: &MinionConfig, masters: usize) -> Result<Mode> {
    let shuffle = config.random_master || config.master_shuffle;
    let order = match config.master_type {
        MasterType::Str | MasterType::Func | MasterType::Disable => return Ok(Mode::Hot),
        MasterType::Failover => (0..masters).collect(),
        MasterType::Distributed => distributed_order(config.minion_id()?.as_str(), masters),
    };
    // As in Salt, without an interval of its own it is that of the pings.
    let intervals = [
        config.master_failback_interval,
        config.master_alive_interval,
    ];
    let interval = intervals
        .into_iter()
        .map(|i| i.duration())
        .find(|i| !i.is_zero());
    let failback = config
        .master_failback
        .then(|| interval.unwrap_or(FAILBACK_INTERVAL));
    let tries = u32::try_from(config.master_tries).ok();
    let rest = config.acceptance_wait_time.duration();
    Ok(Mode::Failover {
        order,
        failback,
        shuffle,
        tries: tries.filter(|&tries| tries > 0).map(|tries| (tries, rest)),
    })
}

/// Where returns wait for a master.
pub fn spool(config: &MinionConfig) -> (PathBuf, halite_spool::Limits) {
    let limits = halite_spool::Limits {
        bytes_max: config.return_spool_bytes,
        age_max: Duration::from_secs(config.return_spool_age),
    };
    (config.cachedir.join("returns"), limits)
}

fn masters(config: &MinionConfig) -> Result<Vec<(String, MasterUri)>> {
    let addresses = match config.master_type {
        MasterType::Func => master_function::masters(config)?,
        _ => config.masters()?,
    };
    let uri =
        |address: MasterAddress| Ok((address.to_string(), address.uri(config.master_port.0)?));
    addresses.into_iter().map(uri).collect()
}

fn trust(config: &MinionConfig) -> Result<TrustSettings> {
    let signing_key = config.verify_master_pubkey_sign;
    Ok(TrustSettings {
        signing_key: signing_key.then(|| config.master_sign_key_name.clone()),
        always_verify_signature: config.always_verify_signature,
        finger: Some(config.master_finger.clone()).filter(|finger| !finger.is_empty()),
        hash_type: HashType::parse(&config.hash_type.0).context("bad option `hash_type`")?,
        open_mode: config.open_mode,
        enc_algo: EncAlgo::parse(&config.encryption_algorithm)
            .context("bad option `encryption_algorithm`")?,
        sig_algo: SigAlgo::parse(&config.signing_algorithm)
            .context("bad option `signing_algorithm`")?,
    })
}

/// The files of this machine, for a minion without a master.
///
/// # Errors
/// When an option is wrong.
pub fn local_files(config: &MinionConfig) -> Result<FileServer> {
    let roots = config.file_roots.iter();
    let roots = RootsOptions {
        file_roots: roots
            .map(|(env, dirs)| (env.clone(), dirs.clone()))
            .collect(),
        hash_type: HashType::parse(&config.hash_type.0).context("bad option `hash_type`")?,
        follow_symlinks: config.fileserver_followsymlinks,
        ignore_symlinks: config.fileserver_ignoresymlinks,
        ignore_regex: config.file_ignore_regex.0.clone(),
        ignore_glob: config.file_ignore_glob.0.clone(),
        ..RootsOptions::default()
    };
    let backends = config.fileserver_backend.0.clone();
    let gitfs = match backends.iter().any(|name| name == "gitfs") {
        true => GitfsOptions {
            // There is no master that would.
            fetches_itself: true,
            ..GitfsOptions::from_opts(config.opts(), roots.hash_type)?
        },
        false => GitfsOptions::default(),
    };
    FileServer::open(&FileServerOptions {
        backends,
        gitfs,
        roots,
        ..FileServerOptions::default()
    })
    .context("could not open the file server")
}
