//! The options of a minion's files.

mod settle;

use std::collections::BTreeMap;
use std::path::PathBuf;

use halite_proto::{Map, MinionId, Transport, Value};

use crate::address::MasterAddress;
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
        /// In front of every path.
        root_dir: PathBuf = "/".into(),
        /// The minion's name.
        id: Option<String> = None,
        /// Directories that get the id behind them: pki_dir, cachedir,
        /// extension_modules.
        append_minionid_config_dirs: OneOrMany = OneOrMany::default(),
        /// Keep a name that was found for the next start.
        minion_id_caching: bool = true,
        /// A found name is made lower case.
        minion_id_lowercase: bool = false,
        /// A found name loses its domain.
        minion_id_remove_domain: AnyValue = AnyValue(Value::Bool(false)),
        /// A domain for a name without one.
        append_domain: Option<String> = None,
        /// The masters.
        master: Masters = Masters { entries: vec!["salt".to_owned()], is_list: false },
        /// What several masters mean.
        master_type: MasterType = MasterType::Str,
        /// How the masters are written: any way, or only as addresses without
        /// ports (`ip_only`).
        master_uri_format: UriFormat = UriFormat::Default,
        /// The port of requests where an entry has none.
        master_port: Port = Port(4506),
        /// The port of publications, over what a master says.
        publish_port: Option<Port> = None,
        /// Start with any of the masters.
        random_master: bool = false,
        /// The old name of that.
        master_shuffle: bool = false,
        /// Return to the first master when it is back.
        master_failback: bool = false,
        /// Seconds between asking for it.
        master_failback_interval: Seconds = Seconds(0.0),
        /// Seconds between signs of life of a master; 0 for none.
        master_alive_interval: Seconds = Seconds(0.0),
        /// Rounds over the list of masters before a long pause (failover), or
        /// before salt-call gives up; -1 for no bound. The daemon never ends.
        master_tries: i64 = -1,
        /// Seconds between looking up a master's name that has no address; a
        /// daemon that is told nothing asks again within seconds.
        retry_dns: Seconds = Seconds(30.0),
        /// Times a name is looked up at that pace; once a minute after that.
        retry_dns_count: Option<Count> = None,
        /// Connect to masters from this interface's address.
        source_interface_name: String = String::new(),
        /// Connect to masters from this address; the interface is stronger.
        source_address: String = String::new(),
        /// The local port of requests; 0 for any.
        source_ret_port: Count = 0,
        /// The local port of subscriptions; 0 for any.
        source_publish_port: Count = 0,
        /// How masters and minions talk.
        transport: Transport = Transport::ZeroMq,
        /// Whether to use IPv6.
        ipv6: Option<bool> = None,
        /// The minion's keys, and the master's.
        pki_dir: PathBuf = "/etc/salt/pki/minion".into(),
        /// Leave keys to another owner if their group is one of the user's.
        permissive_pki_access: bool = false,
        /// Files, modules, running jobs.
        cachedir: PathBuf = "/var/cache/salt/minion".into(),
        /// Sockets of the local event bus.
        sock_dir: PathBuf = "/var/run/salt/minion".into(),
        /// How local programs get events; not an option of Salt's.
        event_bus_framing: BusFraming = BusFraming::Auto,
        /// Unix sockets or loopback TCP.
        ipc_mode: IpcMode = IpcMode::Ipc,
        /// TCP port of the local bus to subscribe at.
        tcp_pub_port: PortSetting = PortSetting::Base(4510),
        /// TCP port of the local bus to send events to.
        tcp_pull_port: PortSetting = PortSetting::Base(4511),
        /// The file with the process id.
        pidfile: PathBuf = "/var/run/salt-minion.pid".into(),
        /// Make directories and set their modes.
        verify_env: bool = true,
        /// How much goes to the console.
        log_level: LevelName = "warning".into(),
        /// Where the log goes.
        log_file: PathBuf = "/var/log/salt/minion".into(),
        /// How much goes to the file.
        log_level_logfile: Option<LevelName> = None,
        /// Bytes after which the log file is put aside; 0 for never.
        log_rotate_max_bytes: Count = 0,
        /// Log files that were put aside and are kept; 0: it is never put aside.
        log_rotate_backup_count: Count = 0,
        /// Levels for parts of the program.
        log_granular_levels: BTreeMap<String, LevelName> = BTreeMap::new(),
        /// Form of a line on the console.
        log_fmt_console: Option<String> = None,
        /// Form of a line in the file.
        log_fmt_logfile: Option<String> = None,
        /// Form of the time.
        log_datefmt: Option<String> = None,
        /// Form of the time on the console.
        log_datefmt_console: Option<String> = None,
        /// Form of the time in the file.
        log_datefmt_logfile: Option<String> = None,
        /// Bits of a new key.
        keysize: Count = 2048,
        /// The hash of fingerprints and files.
        hash_type: HashName = "sha256".into(),
        /// Take any master's key.
        open_mode: bool = false,
        /// The fingerprint the master's key has to have.
        master_finger: String = String::new(),
        /// Master keys have to be signed.
        verify_master_pubkey_sign: bool = false,
        /// The name of the key they are signed with.
        master_sign_key_name: String = "master_sign".to_owned(),
        /// Check the signature of a known key too.
        always_verify_signature: bool = false,
        /// How keys are encrypted.
        encryption_algorithm: String = "OAEP-SHA1".to_owned(),
        /// How replies are signed.
        signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// Discard publications that are not signed.
        sign_pub_messages: bool = false,
        /// Sign requests, for masters that ask for it.
        minion_sign_messages: bool = false,
        /// Grains that may let a master accept the key.
        autosign_grains: OneOrMany = OneOrMany::default(),
        /// Seconds a sign-in may take.
        auth_timeout: Seconds = Seconds(5.0),
        /// Sign-ins before giving up (`salt-call`).
        auth_tries: Count = 7,
        /// Seconds between sign-ins while the key is not accepted.
        acceptance_wait_time: Seconds = Seconds(10.0),
        /// Bound of that pause when it grows.
        acceptance_wait_time_max: Seconds = Seconds(0.0),
        /// Go on when the key is rejected.
        rejected_retry: bool = false,
        /// Accepted for Salt's sake: a sign-in that fails never ends the
        /// minion.
        auth_safemode: bool = false,
        /// Spread the sign-ins that follow new keys of a master over so many
        /// seconds; none unless it is set.
        random_reauth_delay: Option<Seconds> = None,
        /// Wait up to so many seconds before the first connection.
        random_startup_delay: Seconds = Seconds(0.0),
        /// Seconds a request may take.
        request_channel_timeout: Seconds = Seconds(60.0),
        /// Times a request is tried.
        request_channel_tries: Count = 3,
        /// Seconds before a return is tried again.
        return_retry_timer: Seconds = Seconds(5.0),
        /// Bound of that pause.
        return_retry_timer_max: Seconds = Seconds(10.0),
        /// Bytes of returns that may wait for a master.
        return_spool_bytes: Count = 256 * 1024 * 1024,
        /// Seconds a return may wait for a master.
        return_spool_age: Count = 86_400,
        /// Send returns at all.
        pub_ret: bool = true,
        /// Milliseconds before a lost connection is tried again; less unless
        /// it is set.
        recon_default: Count = 1000,
        /// Bound of that pause.
        recon_max: Count = 10_000,
        /// Spread these pauses by chance.
        recon_randomize: bool = true,
        /// Keep-alive on TCP connections.
        tcp_keepalive: bool = true,
        /// Seconds of silence before the first question.
        tcp_keepalive_idle: Seconds = Seconds(300.0),
        /// Unanswered questions before a connection is dead.
        tcp_keepalive_cnt: i64 = -1,
        /// Seconds between questions.
        tcp_keepalive_intvl: i64 = -1,
        /// Subscribe to what is meant for this minion only.
        zmq_filtering: bool = false,
        /// Minutes between signs of life; 0 for none.
        ping_interval: Count = 0,
        /// Job ids that are remembered.
        minion_jid_queue_hwm: Count = 100,
        /// Jobs at once; -1 for our own bound.
        process_count_max: i64 = -1,
        /// Several functions return in a list.
        multifunc_ordered: bool = false,
        /// States to apply at the start: highstate, sls or top.
        startup_states: String = String::new(),
        /// What `startup_states: sls` applies.
        sls_list: OneOrMany = OneOrMany::default(),
        /// What `startup_states: top` applies.
        top_file: String = String::new(),
        /// Jobs that the minion runs by itself, each with its times.
        schedule: Schedule = Schedule::default(),
        /// Run them before a master has been reached.
        scheduler_before_connect: bool = false,
        /// What the minion watches by itself, each beacon with what it is told.
        beacons: Map = Map::new(),
        /// Look at them before a master has been reached.
        beacons_before_connect: bool = false,
        /// Seconds between two looks.
        loop_interval: Seconds = Seconds(1.0),
        /// What monitoring may ask for, and where.
        metrics: Map = Map::new(),
        /// Fire the old start event too.
        enable_legacy_startup_events: bool = true,
        /// Grains that go along with the start event.
        start_event_grains: OneOrMany = OneOrMany::default(),
        /// Static grains.
        grains: Map = Map::new(),
        /// Grains that are left out.
        grains_blacklist: OneOrMany = OneOrMany::default(),
        /// Static grains are merged into others, deeply.
        grains_deep_merge: bool = false,
        /// Minutes after which grains are collected again; 0 for never.
        grains_refresh_every: Seconds = Seconds(0.0),
        /// Grains are kept on disk from one start to the next.
        grains_cache: bool = false,
        /// Seconds for which they are.
        grains_cache_expiration: Seconds = Seconds(300.0),
        /// Grains are collected again before each job.
        grains_refresh_pre_exec: bool = false,
        /// Look for graphics cards.
        enable_gpu_grains: AnyValue = AnyValue(Value::Bool(true)),
        /// Look up all names of this machine.
        enable_fqdns_grains: bool = false,
        /// Users' Python code that runs beside the daemon: a list of names, and
        /// of maps from a name to what it gets.
        engines: AnyValue = AnyValue(Value::List(Vec::new())),
        /// The Python of users' code; nothing: that of Salt's packages, or
        /// `python3`. Not an option of Salt's.
        python_executable: String = String::new(),
        /// Functions that are not here are those of the Salt that this Python
        /// has, if it has one. Not an option of Salt's.
        python_fallback: bool = true,
        /// What goes to the mine.
        mine_functions: AnyValue = AnyValue::default(),
        /// Send the mine at all.
        mine_enabled: bool = true,
        /// Minutes between updates of the mine.
        mine_interval: Count = 60,
        /// Updates of the mine return to the masters like other jobs.
        mine_return_job: bool = false,
        /// Modules that must not be used.
        disable_modules: OneOrMany = OneOrMany::default(),
        /// The only modules that may be used.
        whitelist_modules: OneOrMany = OneOrMany::default(),
        /// Where files come from: a master or this machine.
        file_client: String = "remote".to_owned(),
        /// Where a minion without a master has its files from, in this order.
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
        /// What a pillar file includes wins over the file.
        pillar_includes_override_sls: bool = false,
        /// Programs and directories that add to pillars.
        ext_pillar: ExternalPillars = ExternalPillars::default(),
        /// External pillars that minions may ask for.
        on_demand_ext_pillar: OneOrMany = OneOrMany(vec!["libvirt".to_owned(), "virtkey".to_owned()]),
        /// Give the options along as pillar `master`.
        pillar_opts: bool = false,
        /// Parts of the pillar that are encrypted.
        decrypt_pillar: AnyValue = AnyValue(Value::List(Vec::new())),
        /// How they are decrypted unless said otherwise.
        decrypt_pillar_default: String = "gpg".to_owned(),
        /// What separates the parts of their paths.
        decrypt_pillar_delimiter: String = ":".to_owned(),
        /// How they may be decrypted.
        decrypt_pillar_renderers: OneOrMany = OneOrMany(vec!["gpg".to_owned()]),
        /// Files that are not served.
        file_ignore_regex: OneOrMany = OneOrMany::default(),
        /// Files that are not served.
        file_ignore_glob: OneOrMany = OneOrMany::default(),
        /// Serve what links lead to.
        fileserver_followsymlinks: bool = true,
        /// Do not list links.
        fileserver_ignoresymlinks: bool = false,
        /// Bytes of a piece of a file that is sent.
        file_buffer_size: Count = 262_144,
        /// The environment of states.
        saltenv: Option<String> = None,
        /// The environment of pillar.
        pillarenv: Option<String> = None,
        /// The environment of pillar is that of states.
        pillarenv_from_saltenv: bool = false,
        /// Who knows the hosts of `R@` in targets: the host and port of a range
        /// server.
        range_server: String = "range:80".to_owned(),
        /// Asking for a pillar key that is not there is an error.
        pillar_raise_on_missing: bool = false,
        /// Options that external pillars of the master are told.
        pass_to_ext_pillars: OneOrMany = OneOrMany::default(),
        /// Hide the values that pillar.items, pillar.get and their like return.
        pillar_mask_output: bool = true,
        /// The outputter.
        output: Option<String> = None,
        /// Colours.
        color: bool = true,
        /// How states are shown.
        state_output: String = "full".to_owned(),
        /// Show states without changes.
        state_verbose: bool = true,
        /// Show states as lines.
        state_tabular: AnyValue = AnyValue(Value::Bool(false)),
        /// Show percentages.
        state_output_pct: bool = false,
        /// Show only states with changes.
        state_output_diff: bool = false,
        /// Show when states started and how long they took.
        state_output_profile: bool = true,
        /// The user that is used for cmd.run, through sudo.
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

    /// The masters, in order, each once. None if a function names them
    /// (`master_type: func`), or there are to be none.
    ///
    /// # Errors
    /// When an entry is no address; cannot happen once the configuration is
    /// loaded.
    pub fn masters(&self) -> Result<Vec<MasterAddress>, ConfigError> {
        self.masters_and_repeats().map(|(masters, _)| masters)
    }

    /// The masters, and the places in the list of those that are there twice.
    fn masters_and_repeats(&self) -> Result<(Vec<MasterAddress>, Vec<usize>), ConfigError> {
        let mut addresses: Vec<MasterAddress> = Vec::new();
        let mut repeats = Vec::new();
        if matches!(self.master_type, MasterType::Func | MasterType::Disable) {
            return Ok((addresses, repeats));
        }
        for (at, entry) in self.master.entries.iter().enumerate() {
            let address = self.address(entry).map_err(|why| {
                let allowed = match self.master_uri_format {
                    UriFormat::Default => format!("host, host:port or [v6]:port ({why})"),
                    UriFormat::IpOnly => format!("an address without a port ({why})"),
                };
                self.raw.wrong_item("master", Some(at), allowed)
            })?;
            let port = |address: &MasterAddress| address.port.unwrap_or(self.master_port.0);
            let is_same =
                |known: &MasterAddress| known.host == address.host && port(known) == port(&address);
            if addresses.iter().any(is_same) {
                repeats.push(at);
            } else {
                addresses.push(address);
            }
        }
        Ok((addresses, repeats))
    }

    /// Where a master is that a function has named.
    ///
    /// # Errors
    /// The text says why it is no address.
    pub fn address(&self, entry: &str) -> Result<MasterAddress, String> {
        let address = MasterAddress::parse(entry).map_err(|error| error.why)?;
        if self.master_uri_format == UriFormat::IpOnly {
            if address.host.parse::<std::net::IpAddr>().is_err() {
                return Err("master_uri_format is ip_only, and this is a name".to_owned());
            }
            if address.port.is_some() {
                return Err("master_uri_format is ip_only, and this has a port".to_owned());
            }
        }
        Ok(address)
    }

    /// Whether the option `name` is in a file or on the command line.
    pub fn is_set(&self, name: &str) -> bool {
        self.raw.has(name)
    }
}
