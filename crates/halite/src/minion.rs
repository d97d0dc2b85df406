//! From a minion's configuration to what the minion crate starts with.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use halite_config::{IpcMode, MasterType, MinionConfig, PortSetting};
use halite_crypto::{EncAlgo, HashType, SigAlgo};
use halite_fileserver::{Roots, RootsOptions};
use halite_grains::GrainsOptions;
use halite_minion::channel::Patience;
use halite_minion::core::conductor::{Mode, distributed_order};
use halite_minion::core::link::LinkTiming;
use halite_minion::core::ports::{self, BusPorts};
use halite_minion::start::{BusPlace, Setup, TrustSettings};
use halite_proto::MasterUri;
use halite_transport::zeromq::KeepAlive;

/// How often a lost first master is asked for when no option says.
const FAILBACK_INTERVAL: Duration = Duration::from_secs(30);

/// Longest pause between tries to reach a master that does not answer,
/// whatever `acceptance_wait_time` says: shorter than `salt` waits for a minion.
const RETRY_MAX: Duration = Duration::from_secs(4);
/// And the shortest that it may be.
const RETRY_MAX_MIN: Duration = Duration::from_secs(1);

/// What a minion starts with. The local bus has sockets only for a daemon.
///
/// # Errors
/// When options do not fit each other.
pub fn setup(config: &MinionConfig, is_daemon: bool) -> Result<Setup> {
    let masters = masters(config)?;
    let seconds = |seconds: halite_config::Seconds| seconds.duration();
    let retry_max = seconds(config.acceptance_wait_time).clamp(RETRY_MAX_MIN, RETRY_MAX);
    let opts = config.opts().clone();
    let grains = GrainsOptions::from_opts(&opts);
    Ok(Setup {
        id: config.minion_id()?,
        bus: if is_daemon {
            bus(config, &masters)?
        } else {
            BusPlace::Process
        },
        cachedir: config.cachedir.clone(),
        pki_dir: config.pki_dir.clone(),
        keysize: u32::try_from(config.keysize).context("bad option `keysize`")?,
        owner: None,
        trust: trust(config)?,
        timing: LinkTiming {
            acceptance_wait_time: seconds(config.acceptance_wait_time),
            acceptance_wait_time_max: seconds(config.acceptance_wait_time_max),
            retry_max,
            rejected_retry: config.rejected_retry,
            subscribes: is_daemon,
            alive_interval: Some(seconds(config.master_alive_interval)).filter(|i| !i.is_zero()),
        },
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
        keep_alive: keep_alive(config),
        reconnect: (
            Duration::from_millis(config.recon_default),
            Duration::from_millis(config.recon_max),
        ),
        autosign_grains: config.autosign_grains.0.clone(),
        jids_remembered: usize::try_from(config.minion_jid_queue_hwm).unwrap_or(usize::MAX),
        collect_grains: Box::new(move || halite_grains::collect(&grains)),
        mode: mode(config, masters.len())?,
        masters,
        opts,
    })
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
    Ok(Mode::Failover {
        order,
        failback,
        shuffle,
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
    if config.master_type == MasterType::Disable {
        return Ok(Vec::new());
    }
    let uri = |address: halite_config::MasterAddress| {
        Ok((address.to_string(), address.uri(config.master_port.0)?))
    };
    config.masters()?.into_iter().map(uri).collect()
}

/// All masters share one bus, which has the first pair of ports; all pairs are
/// checked all the same, so that a mistake is not found years later.
fn bus(config: &MinionConfig, masters: &[(String, MasterUri)]) -> Result<BusPlace> {
    if config.ipc_mode == IpcMode::Ipc {
        return Ok(BusPlace::SockDir(config.sock_dir.clone()));
    }
    let names: Vec<String> = masters.iter().map(|(name, _)| name.clone()).collect();
    let setting = |setting: &PortSetting| match setting {
        PortSetting::Base(port) => ports::PortSetting::Base(*port),
        PortSetting::List(list) => ports::PortSetting::List(list.clone()),
    };
    let all = ports::allocate(
        &names,
        &setting(&config.tcp_pub_port),
        &setting(&config.tcp_pull_port),
    )?;
    let first = all.first().copied();
    let default = BusPorts {
        publish: ports::TCP_PUB_PORT,
        pull: ports::TCP_PULL_PORT,
    };
    Ok(BusPlace::Ports(first.unwrap_or(default)))
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

fn keep_alive(config: &MinionConfig) -> KeepAlive {
    let number = |number: i64| i32::try_from(number).unwrap_or(-1);
    let idle = config.tcp_keepalive_idle.0;
    KeepAlive {
        on: config.tcp_keepalive,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a cast of a float saturates"
        )]
        idle_s: idle as i32,
        count: number(config.tcp_keepalive_cnt),
        interval_s: number(config.tcp_keepalive_intvl),
    }
}

/// The files of this machine, for a minion without a master.
///
/// # Errors
/// When an option is wrong.
pub fn local_roots(config: &MinionConfig) -> Result<Roots> {
    let roots = config.file_roots.iter();
    Roots::new(RootsOptions {
        file_roots: roots
            .map(|(env, dirs)| (env.clone(), dirs.clone()))
            .collect(),
        hash_type: HashType::parse(&config.hash_type.0).context("bad option `hash_type`")?,
        follow_symlinks: config.fileserver_followsymlinks,
        ignore_symlinks: config.fileserver_ignoresymlinks,
        ignore_regex: config.file_ignore_regex.0.clone(),
        ignore_glob: config.file_ignore_glob.0.clone(),
        ..RootsOptions::default()
    })
    .context("bad option `file_ignore_regex`")
}
