//! The options of a minion's files.

mod masters;
mod settle;

use std::collections::BTreeMap;
use std::path::PathBuf;

use halite_proto::{Map, MinionId, Transport, Value};

use crate::error::ConfigError;
use crate::options::options;
use crate::setting::{
    AnyValue, BusFraming, Count, ExternalPillars, HashName, IpcMode, LevelName, MasterType,
    Masters, OneOrMany, Port, PortSetting, Schedule, Seconds, UriFormat,
};

options! {
    /// A minion's configuration. Fields are Salt's options; paths have
    /// `root_dir` in front.
    MinionConfig {
        /// The user the daemon runs as.
        user: Option<String> = None,
        /// The directory put before every other path.
        root_dir: PathBuf = "/".into(),
        /// The minion's name.
        id: Option<String> = None,
        /// Directories to which the id is appended: pki_dir, cachedir,
        /// extension_modules.
        append_minionid_config_dirs: OneOrMany = OneOrMany::default(),
        /// Store an automatically found id for the next start.
        minion_id_caching: bool = true,
        /// Convert an automatically found id to lower case.
        minion_id_lowercase: bool = false,
        /// Remove the domain from an automatically found id.
        minion_id_remove_domain: AnyValue = AnyValue(Value::Bool(false)),
        /// The domain added to an id without one.
        append_domain: Option<String> = None,
        /// The master, or a list of masters.
        master: Masters = Masters { entries: vec!["salt".to_owned()], is_list: false },
        /// How the minion uses several masters.
        master_type: MasterType = MasterType::Str,
        /// Allowed forms of the masters: any, or only addresses without
        /// ports (`ip_only`).
        master_uri_format: UriFormat = UriFormat::Default,
        /// The request port of masters without a port in the list.
        master_port: Port = Port(4506),
        /// The publish port, in place of the one that a master names.
        publish_port: Option<Port> = None,
        /// Put the list of masters into random order.
        random_master: bool = false,
        /// The old name of `random_master`.
        master_shuffle: bool = false,
        /// Return to the first master when it is available again.
        master_failback: bool = false,
        /// Seconds between checks whether the first master is available.
        master_failback_interval: Seconds = Seconds(0.0),
        /// Seconds between checks whether a master is alive; 0 for none.
        master_alive_interval: Seconds = Seconds(0.0),
        /// Rounds over the list of masters before a long pause (failover), or
        /// before salt-call gives up; -1 for no limit. The daemon never ends.
        master_tries: i64 = -1,
        /// Seconds between lookups of a master's name that does not resolve;
        /// by default a few seconds.
        retry_dns: Seconds = Seconds(30.0),
        /// The number of lookups at the pace of `retry_dns`; then one a minute.
        retry_dns_count: Option<Count> = None,
        /// Connect to masters from this interface's address.
        source_interface_name: String = String::new(),
        /// Connect to masters from this address; overrides the interface.
        source_address: String = String::new(),
        /// The local port of request connections; 0 for any.
        source_ret_port: Count = 0,
        /// The local port of subscriptions; 0 for any.
        source_publish_port: Count = 0,
        /// The transport between masters and minions.
        transport: Transport = Transport::ZeroMq,
        /// Whether to use IPv6.
        ipv6: Option<bool> = None,
        /// The directory of the minion's keys and the master's public key.
        pki_dir: PathBuf = "/etc/salt/pki/minion".into(),
        /// Leave key files to another owner if their group is one of the user's.
        permissive_pki_access: bool = false,
        /// The directory of files, modules and running jobs.
        cachedir: PathBuf = "/var/cache/salt/minion".into(),
        /// Sockets of the local event bus.
        sock_dir: PathBuf = "/var/run/salt/minion".into(),
        /// How local programs get events; not an option of Salt's.
        event_bus_framing: BusFraming = BusFraming::Auto,
        /// Whether local programs connect by unix sockets or loopback TCP.
        ipc_mode: IpcMode = IpcMode::Ipc,
        /// TCP port for subscriptions to the local bus.
        tcp_pub_port: PortSetting = PortSetting::Base(4510),
        /// TCP port for sending events to the local bus.
        tcp_pull_port: PortSetting = PortSetting::Base(4511),
        /// The file with the process id.
        pidfile: PathBuf = "/var/run/salt-minion.pid".into(),
        /// Make missing directories and set their modes at the start.
        verify_env: bool = true,
        /// The level of the log on the console.
        log_level: LevelName = "warning".into(),
        /// The path of the log file, or the address of a syslog.
        log_file: PathBuf = "/var/log/salt/minion".into(),
        /// The level of the log file.
        log_level_logfile: Option<LevelName> = None,
        /// Bytes after which the log file is rotated; 0 for never.
        log_rotate_max_bytes: Count = 0,
        /// Number of rotated log files that are kept; with 0 there is no rotation.
        log_rotate_backup_count: Count = 0,
        /// Log levels for parts of the program.
        log_granular_levels: BTreeMap<String, LevelName> = BTreeMap::new(),
        /// The format of a log line on the console.
        log_fmt_console: Option<String> = None,
        /// The format of a line in the log file.
        log_fmt_logfile: Option<String> = None,
        /// The format of the time in log lines.
        log_datefmt: Option<String> = None,
        /// The format of the time in log lines on the console.
        log_datefmt_console: Option<String> = None,
        /// The format of the time in the log file.
        log_datefmt_logfile: Option<String> = None,
        /// Bits of a new RSA key.
        keysize: Count = 2048,
        /// The hash of fingerprints and files.
        hash_type: HashName = "sha256".into(),
        /// Accept any master's key.
        open_mode: bool = false,
        /// The fingerprint that the master's key must have.
        master_finger: String = String::new(),
        /// Require a signature of the master's key.
        verify_master_pubkey_sign: bool = false,
        /// The name of the key with which master keys are signed.
        master_sign_key_name: String = "master_sign".to_owned(),
        /// Check the signature of a known key too.
        always_verify_signature: bool = false,
        /// The encryption algorithm of keys in the master's replies.
        encryption_algorithm: String = "OAEP-SHA1".to_owned(),
        /// The signature algorithm of the master's replies.
        signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// Discard unsigned publications.
        sign_pub_messages: bool = false,
        /// Sign requests, for masters that require it.
        minion_sign_messages: bool = false,
        /// Grains that may let a master accept the key.
        autosign_grains: OneOrMany = OneOrMany::default(),
        /// Seconds that a sign-in may take.
        auth_timeout: Seconds = Seconds(5.0),
        /// Sign-ins before `salt-call` gives up a master, and failover if it is set.
        auth_tries: Count = 7,
        /// Seconds between sign-ins while the key is pending.
        acceptance_wait_time: Seconds = Seconds(10.0),
        /// The longest pause between sign-ins while the key is pending.
        acceptance_wait_time_max: Seconds = Seconds(0.0),
        /// Continue when every master has rejected the key.
        rejected_retry: bool = false,
        /// Spread sign-ins after new keys of a master over this many
        /// seconds; not spread by default.
        random_reauth_delay: Option<Seconds> = None,
        /// The longest random delay before the first connection, in seconds.
        random_startup_delay: Seconds = Seconds(0.0),
        /// Seconds that a request may take.
        request_channel_timeout: Seconds = Seconds(60.0),
        /// The number of tries of a request.
        request_channel_tries: Count = 3,
        /// Seconds before a return is sent again.
        return_retry_timer: Seconds = Seconds(5.0),
        /// The longest pause before a return is sent again.
        return_retry_timer_max: Seconds = Seconds(10.0),
        /// Bytes of returns that may wait on disk for a master.
        return_spool_bytes: Count = 256 * 1024 * 1024,
        /// Seconds for which a return may wait for a master.
        return_spool_age: Count = 86_400,
        /// Whether returns are sent.
        pub_ret: bool = true,
        /// Milliseconds before a lost connection is tried again; less by
        /// default.
        recon_default: Count = 1000,
        /// The longest pause before a lost connection is tried again.
        recon_max: Count = 10_000,
        /// Randomise the pauses before a lost connection is tried again.
        recon_randomize: bool = true,
        /// Use keep-alive on TCP connections.
        tcp_keepalive: bool = true,
        /// Seconds of silence before the first keep-alive probe.
        tcp_keepalive_idle: Seconds = Seconds(300.0),
        /// Unanswered keep-alive probes after which a connection is dead.
        tcp_keepalive_cnt: i64 = -1,
        /// Seconds between keep-alive probes.
        tcp_keepalive_intvl: i64 = -1,
        /// Subscribe only to publications for this minion.
        zmq_filtering: bool = false,
        /// Minutes between pings of the master; 0 for none.
        ping_interval: Count = 0,
        /// The number of job ids that are remembered.
        minion_jid_queue_hwm: Count = 100,
        /// The number of concurrent jobs; -1 for Halite's own limit.
        process_count_max: i64 = -1,
        /// Return the results of several functions as a list.
        multifunc_ordered: bool = false,
        /// States to apply at the start: highstate, sls or top.
        startup_states: String = String::new(),
        /// The SLS that `startup_states: sls` applies.
        sls_list: OneOrMany = OneOrMany::default(),
        /// The top file that `startup_states: top` applies.
        top_file: String = String::new(),
        /// Scheduled jobs of the minion, each with its times.
        schedule: Schedule = Schedule::default(),
        /// Run scheduled jobs before a master has been reached.
        scheduler_before_connect: bool = false,
        /// The beacons of the minion, each with its configuration.
        beacons: Map = Map::new(),
        /// Check beacons before a master has been reached.
        beacons_before_connect: bool = false,
        /// Seconds between two checks of beacons.
        loop_interval: Seconds = Seconds(1.0),
        /// The page of metrics for monitoring.
        metrics: Map = Map::new(),
        /// Also fire the old start event.
        enable_legacy_startup_events: bool = true,
        /// Grains that the start event carries.
        start_event_grains: OneOrMany = OneOrMany::default(),
        /// Static grains.
        grains: Map = Map::new(),
        /// Grains that are not collected.
        grains_blacklist: OneOrMany = OneOrMany::default(),
        /// Merge static grains deeply into others.
        grains_deep_merge: bool = false,
        /// Minutes after which grains are collected again; 0 for never.
        grains_refresh_every: Seconds = Seconds(0.0),
        /// Keep grains on disk between starts.
        grains_cache: bool = false,
        /// Seconds for which grains on disk are valid.
        grains_cache_expiration: Seconds = Seconds(300.0),
        /// Collect grains again before each job.
        grains_refresh_pre_exec: bool = false,
        /// Look for graphics cards.
        enable_gpu_grains: AnyValue = AnyValue(Value::Bool(true)),
        /// Look up all names of this machine.
        enable_fqdns_grains: bool = false,
        /// Custom Python code that runs beside the daemon: a list of names, and
        /// of maps from a name to its arguments.
        engines: AnyValue = AnyValue(Value::List(Vec::new())),
        /// The Python of custom code; empty: that of Salt's packages, or
        /// `python3`. Not an option of Salt's.
        python_executable: String = String::new(),
        /// Take functions that Halite lacks from the Salt of this Python, if it
        /// has one. Not an option of Salt's.
        python_fallback: bool = true,
        /// The functions whose returns go to the mine.
        mine_functions: AnyValue = AnyValue::default(),
        /// Whether the mine is updated.
        mine_enabled: bool = true,
        /// Minutes between updates of the mine.
        mine_interval: Count = 60,
        /// Return updates of the mine to the masters like other jobs.
        mine_return_job: bool = false,
        /// Modules that are disabled.
        disable_modules: OneOrMany = OneOrMany::default(),
        /// The only modules that are enabled.
        whitelist_modules: OneOrMany = OneOrMany::default(),
        /// Whether files come from a master or from this machine.
        file_client: String = "remote".to_owned(),
        /// The sources of files of a minion without a master, in this order.
        fileserver_backend: OneOrMany = OneOrMany(vec!["roots".to_owned()]),
        /// Environments and their directories, without a master.
        file_roots: BTreeMap<String, Vec<PathBuf>> =
            BTreeMap::from([("base".to_owned(), vec!["/srv/salt".into(), "/srv/spm/salt".into()])]),
        /// Environments and their pillar directories, without a master.
        pillar_roots: BTreeMap<String, Vec<PathBuf>> =
            BTreeMap::from([("base".to_owned(), vec!["/srv/pillar".into(), "/srv/spm/pillar".into()])]),
        /// How pillars of several sources are merged.
        pillar_source_merging_strategy: String = "smart".to_owned(),
        /// Join lists of pillars instead of replacing them.
        pillar_merge_lists: bool = false,
        /// The includes of a pillar file take precedence over the file.
        pillar_includes_override_sls: bool = false,
        /// Programs and directories that add to pillars.
        ext_pillar: ExternalPillars = ExternalPillars::default(),
        /// External pillars that minions may request.
        on_demand_ext_pillar: OneOrMany = OneOrMany(vec!["libvirt".to_owned(), "virtkey".to_owned()]),
        /// Add the options to the pillar, as `master`.
        pillar_opts: bool = false,
        /// Parts of the pillar that are encrypted.
        decrypt_pillar: AnyValue = AnyValue(Value::List(Vec::new())),
        /// The default renderer of `decrypt_pillar`.
        decrypt_pillar_default: String = "gpg".to_owned(),
        /// The separator in the paths of `decrypt_pillar`.
        decrypt_pillar_delimiter: String = ":".to_owned(),
        /// The renderers that `decrypt_pillar` may use.
        decrypt_pillar_renderers: OneOrMany = OneOrMany(vec!["gpg".to_owned()]),
        /// Regular expressions of files that are not served.
        file_ignore_regex: OneOrMany = OneOrMany::default(),
        /// Globs of files that are not served.
        file_ignore_glob: OneOrMany = OneOrMany::default(),
        /// Follow links and serve their destinations.
        fileserver_followsymlinks: bool = true,
        /// Do not list links.
        fileserver_ignoresymlinks: bool = false,
        /// The size of a piece of a file, in bytes.
        file_buffer_size: Count = 262_144,
        /// The environment of states.
        saltenv: Option<String> = None,
        /// The environment of pillar.
        pillarenv: Option<String> = None,
        /// Use the environment of states as the environment of pillar.
        pillarenv_from_saltenv: bool = false,
        /// The range server for the hosts of `R@` in targets: its host and
        /// port.
        range_server: String = "range:80".to_owned(),
        /// Make it an error to ask for a missing pillar key.
        pillar_raise_on_missing: bool = false,
        /// Options that the minion sends to external pillars of the master.
        pass_to_ext_pillars: OneOrMany = OneOrMany::default(),
        /// Hide the values that pillar.items, pillar.get and the like return.
        pillar_mask_output: bool = true,
        /// The default outputter.
        output: Option<String> = None,
        /// Use colours in output.
        color: bool = true,
        /// How states are shown.
        state_output: String = "full".to_owned(),
        /// Show states without changes.
        state_verbose: bool = true,
        /// Show states as one line each.
        state_tabular: AnyValue = AnyValue(Value::Bool(false)),
        /// Show percentages of succeeded and failed states.
        state_output_pct: bool = false,
        /// Show only states with changes.
        state_output_diff: bool = false,
        /// Show when states started and how long they took.
        state_output_profile: bool = true,
        /// The user as whom cmd.run runs, through sudo.
        sudo_user: Option<String> = None,
    }
}

impl MinionConfig {
    /// The checked id.
    ///
    /// # Errors
    /// When the id is not one; cannot happen once the configuration is loaded.
    pub fn minion_id(&self) -> Result<MinionId, ConfigError> {
        let id = self.id.clone().unwrap_or_default();
        MinionId::parse(id).map_err(|error| {
            self.raw
                .wrong("id", format!("a name that can be a file's ({})", error.why))
        })
    }

    /// Whether the option `name` is in a file or on the command line.
    pub fn is_set(&self, name: &str) -> bool {
        self.raw.has(name)
    }
}
