//! The options that the master reads, in the form in which it uses them.
//!
//! Invariant: options are looked at here and nowhere else; what remains in
//! `opts` is only passed on to minions or holds lists of rules.

mod meaning;

use std::path::PathBuf;
use std::time::Duration;

use halite_config::{BusFraming, MasterConfig};
use halite_crypto::{HashType, Secret, SigAlgo};
use halite_fileserver::{FileServerOptions, InboxOptions};
use halite_key::{AutosignOptions, MasterKeyOptions, MasterSigning};
use halite_ldap::Directory;
use halite_modules::extensions::Engine;
use halite_process::privileges::User;
use halite_proto::{Jid, Map, Value};
use halite_transport::fleet::{KeepAlive, Transport};
use halite_transport::ipc::{Framing, framing_of};

use crate::core::rules::Rules;
use crate::error::StartError;
use crate::events::event_returns::Plan;
use crate::pillar::tops::Tops;

use meaning::{
    autosign, clamped, clamped_i32, engines, external_auth, files, hash_type, keep_alive,
    key_signing, local_ports, publish_signing, reactor_rules, texts, tops,
};

/// How the master's public key is signed for minions.
#[derive(Clone, Debug)]
pub(crate) enum KeySigning {
    /// Not at all.
    Off,
    /// With the signing key, `master_sign_key_name`.
    Key(String),
    /// With a signature made before, in a file of this name.
    Stored(Option<String>),
}

/// Ports on the loopback interface instead of socket files (`ipc_mode: tcp`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalPorts {
    /// Where local programs subscribe to events.
    pub(crate) events_out: u16,
    /// Where they send events to.
    pub(crate) events_in: u16,
    /// Where they send publications to.
    pub(crate) publications_in: u16,
}

/// Who may do what after logging in.
#[derive(Clone)]
pub(crate) struct ExternalAuth {
    /// `external_auth`.
    pub(crate) rules: Map,
    /// `token_expire`.
    pub(crate) token_expire_s: u64,
    /// `token_expire_user_override`.
    pub(crate) token_expire_override: Value,
    /// `keep_acl_in_token`.
    pub(crate) keep_acl: bool,
    /// `eauth_acl_module`: says what users may do, in place of the entries.
    pub(crate) acl_module: String,
    /// `permissive_acl`.
    pub(crate) is_permissive: bool,
    /// The directory of `ldap`.
    pub(crate) directory: Option<Directory>,
}

/// What the master has to know of its configuration.
pub(crate) struct Settings {
    // Who and where.
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) running_user: String,
    pub(crate) master_id: Option<String>,
    pub(crate) cachedir: PathBuf,
    pub(crate) sock_dir: PathBuf,
    pub(crate) pki_dir: PathBuf,
    // The network.
    pub(crate) interface: String,
    pub(crate) ret_port: u16,
    pub(crate) publish_port: u16,
    pub(crate) ipv6: bool,
    pub(crate) backlog: i32,
    pub(crate) pub_hwm: usize,
    pub(crate) transport: Transport,
    pub(crate) keep_alive: KeepAlive,
    pub(crate) zmq_filtering: bool,
    pub(crate) order_masters: bool,
    pub(crate) local_ports: Option<LocalPorts>,
    pub(crate) framing: Framing,
    pub(crate) framing_of: Option<fn(u32) -> Option<Framing>>,
    pub(crate) event_bytes_max: usize,
    pub(crate) worker_threads: usize,
    // Keys and sign-ins.
    pub(crate) keysize: u32,
    pub(crate) key_pass: Option<Secret<String>>,
    pub(crate) signing_key_pass: Option<Secret<String>>,
    pub(crate) key_signing: KeySigning,
    pub(crate) publish_signing: Option<SigAlgo>,
    pub(crate) publish_session_s: u64,
    pub(crate) autosign: AutosignOptions,
    pub(crate) open_mode: bool,
    pub(crate) max_minions: usize,
    pub(crate) auth_events: bool,
    pub(crate) auth_events_autosign_grains: Vec<String>,
    pub(crate) minimum_auth_version: u32,
    pub(crate) request_server_ttl_s: i64,
    pub(crate) require_minion_sign_messages: bool,
    pub(crate) drop_messages_signature_fail: bool,
    pub(crate) allow_minion_key_revoke: bool,
    pub(crate) ping_on_rotate: bool,
    pub(crate) rotate_aes_key: bool,
    // Rights of local users.
    pub(crate) publisher_acl: Map,
    pub(crate) publisher_acl_blacklist: Map,
    pub(crate) client_acl_verify: bool,
    pub(crate) sudo_acl: bool,
    pub(crate) external_auth: ExternalAuth,
    // What is kept.
    pub(crate) stores_runner_returns: bool,
    pub(crate) runner_timeout_s: u64,
    pub(crate) reactor_rules: Rules,
    pub(crate) reactor_threads: usize,
    pub(crate) reactor_waiting_max: usize,
    /// `schedule`.
    pub(crate) schedule: Map,
    pub(crate) presence_events: bool,
    /// `fileserver_events`.
    pub(crate) fileserver_events: bool,
    /// `roots_update_interval`.
    pub(crate) roots_update_interval: Duration,
    /// `master_stats_event_iter`, if `master_stats` is on.
    pub(crate) master_stats_every: Option<Duration>,
    pub(crate) event_returns: Plan,
    pub(crate) tops: Tops,
    /// `git_pillar_update_interval`.
    pub(crate) git_pillar_interval: Duration,
    /// `engines`.
    pub(crate) engines: Vec<Engine>,
    pub(crate) queue_dir: PathBuf,
    pub(crate) timeout: Duration,
    pub(crate) gather_job_timeout: Duration,
    pub(crate) hash_type: HashType,
    pub(crate) unique_jid: bool,
    pub(crate) stores_returns: bool,
    pub(crate) stores_endtime: bool,
    pub(crate) keep_jobs: Duration,
    /// `own_jobs_max_size`, in bytes.
    pub(crate) own_jobs_bytes_max: u64,
    pub(crate) job_replay_window_s: u64,
    pub(crate) keeps_data: bool,
    pub(crate) targets_uncached: bool,
    pub(crate) keeps_mine: bool,
    pub(crate) data_cache_events: bool,
    pub(crate) loop_interval: Duration,
    // Files.
    pub(crate) files: FileServerOptions,
    pub(crate) inbox: InboxOptions,
}

impl Settings {
    /// Reads the options.
    ///
    /// # Errors
    /// When a value has the right type and still cannot be used.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Self, StartError> {
        let running_user = User::current().map_or_else(|_| "root".to_owned(), |user| user.name);
        let opts = config.opts();
        let flag = |name: &str| opts.get(name).is_some_and(Value::is_true);
        Ok(Self {
            id: config
                .id
                .clone()
                .unwrap_or_else(|| "localhost_master".to_owned()),
            user: config.user.clone().unwrap_or_else(|| running_user.clone()),
            running_user,
            master_id: config.master_id.clone(),
            cachedir: config.cachedir.clone(),
            sock_dir: config.sock_dir.clone(),
            pki_dir: config.pki_dir.clone(),
            interface: config.interface.clone(),
            ret_port: config.ret_port.0,
            publish_port: config.publish_port.0,
            ipv6: config.ipv6.unwrap_or(false),
            backlog: clamped_i32(config.zmq_backlog),
            pub_hwm: usize::try_from(config.pub_hwm).unwrap_or(usize::MAX),
            transport: config.transport,
            keep_alive: keep_alive(config),
            zmq_filtering: config.zmq_filtering,
            order_masters: config.order_masters,
            local_ports: local_ports(config),
            framing: match config.event_bus_framing {
                BusFraming::Prefixed => Framing::Prefixed,
                BusFraming::Auto | BusFraming::Bare => Framing::Bare,
            },
            framing_of: match config.event_bus_framing {
                BusFraming::Auto => Some(framing_of),
                BusFraming::Bare | BusFraming::Prefixed => None,
            },
            event_bytes_max: clamped(config.max_event_size),
            worker_threads: clamped(config.worker_threads),
            keysize: u32::try_from(config.keysize).map_err(|_| StartError::Option {
                option: "keysize",
                why: "no key is that large".to_owned(),
            })?,
            key_pass: config.key_pass.clone().map(Secret::new),
            signing_key_pass: config.signing_key_pass.clone().map(Secret::new),
            key_signing: key_signing(config),
            publish_signing: publish_signing(config)?,
            publish_session_s: config.publish_session,
            autosign: autosign(config),
            open_mode: config.open_mode,
            max_minions: clamped(config.max_minions),
            auth_events: config.auth_events,
            auth_events_autosign_grains: texts(opts.get("auth_events_autosign_grains")),
            minimum_auth_version: u32::try_from(config.minimum_auth_version).unwrap_or(u32::MAX),
            request_server_ttl_s: i64::try_from(config.request_server_ttl).unwrap_or(i64::MAX),
            require_minion_sign_messages: config.require_minion_sign_messages,
            drop_messages_signature_fail: config.drop_messages_signature_fail,
            allow_minion_key_revoke: config.allow_minion_key_revoke,
            ping_on_rotate: config.ping_on_rotate,
            rotate_aes_key: config.rotate_aes_key,
            publisher_acl: config.publisher_acl.clone(),
            publisher_acl_blacklist: config.publisher_acl_blacklist.clone(),
            client_acl_verify: config.client_acl_verify,
            sudo_acl: config.sudo_acl,
            external_auth: external_auth(config)?,
            stores_runner_returns: config.runner_returns,
            runner_timeout_s: config.runner_timeout,
            reactor_rules: reactor_rules(config),
            reactor_threads: clamped(config.reactor_worker_threads),
            reactor_waiting_max: clamped(config.reactor_worker_hwm),
            schedule: config.schedule.0.clone(),
            presence_events: config.presence_events,
            fileserver_events: config.fileserver_events,
            roots_update_interval: Duration::from_secs(config.roots_update_interval.max(1)),
            master_stats_every: config
                .master_stats
                .then(|| Duration::from_secs(config.master_stats_event_iter)),
            event_returns: Plan::of(config),
            tops: tops(config)?,
            git_pillar_interval: Duration::from_secs(config.git_pillar_update_interval.max(1)),
            engines: engines(config)?,
            queue_dir: config.sqlite_queue_dir.clone(),
            timeout: config.timeout.duration(),
            gather_job_timeout: config.gather_job_timeout.duration(),
            hash_type: hash_type(config)?,
            unique_jid: config.unique_jid,
            stores_returns: config.job_cache && config.ext_job_cache.is_empty(),
            stores_endtime: config.job_cache_store_endtime,
            keep_jobs: Duration::from_secs(config.keep_jobs_seconds),
            own_jobs_bytes_max: match config.own_jobs_max_size {
                0 => u64::MAX,
                mebibytes => mebibytes.saturating_mul(1024 * 1024),
            },
            job_replay_window_s: config.job_replay_window,
            keeps_data: config.minion_data_cache,
            targets_uncached: config.target_uncached_minions,
            keeps_mine: config.minion_data_cache || flag("enforce_mine_cache"),
            data_cache_events: config.minion_data_cache_events,
            loop_interval: config.loop_interval.duration().max(LOOP_INTERVAL_MIN),
            files: files(config)?,
            inbox: InboxOptions {
                on: config.file_recv,
                bytes_max: config.file_recv_max_size.saturating_mul(1024 * 1024),
                ..InboxOptions::new(&config.cachedir)
            },
        })
    }

    /// Where sessions are kept.
    pub(crate) fn sessions_dir(&self) -> PathBuf {
        self.cachedir.join("sessions")
    }

    /// Where it is noted which minion published which job.
    pub(crate) fn publish_auth_dir(&self) -> PathBuf {
        self.cachedir.join("publish_auth")
    }

    /// The job id with the process id behind it, where `unique_jid` asks for
    /// it.
    pub(crate) fn mark_jid(&self, jid: Jid) -> Jid {
        if !self.unique_jid {
            return jid;
        }
        Jid::parse(format!("{jid}_{}", std::process::id())).unwrap_or(jid)
    }

    /// How the master's keys are found or made.
    pub(crate) fn master_key_options(&self) -> MasterKeyOptions<'_> {
        MasterKeyOptions {
            id: &self.id,
            passphrase: self.key_pass.as_ref(),
            bits: self.keysize,
            signing: match &self.key_signing {
                KeySigning::Off => MasterSigning::None,
                KeySigning::Key(name) => MasterSigning::Key {
                    name,
                    passphrase: self.signing_key_pass.as_ref(),
                },
                KeySigning::Stored(file_name) => MasterSigning::Stored {
                    file_name: file_name.as_deref(),
                },
            },
        }
    }
}

/// The housekeeping does not run more often than this.
const LOOP_INTERVAL_MIN: Duration = Duration::from_secs(1);
