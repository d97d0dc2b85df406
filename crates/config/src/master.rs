//! The options of a master's files.

mod access;
mod cluster;
mod external_pillars;
mod settle;

use std::collections::BTreeMap;
use std::path::PathBuf;

use halite_proto::{Map, Transport, Value};

use crate::options::options;
use crate::setting::{
    AnyValue, ApiHost, BusFraming, Count, EventReturners, ExternalPillars, HashName, IpcMode,
    JobCacheName, LevelName, LoginWays, MasterTops, OneOrMany, Port, Reactions, Schedule, Seconds,
};

options! {
    /// A master's configuration. Fields are Salt's options; paths have
    /// `root_dir` in front.
    MasterConfig {
        /// The user the daemon runs as.
        user: Option<String> = None,
        /// The directory put before every other path.
        root_dir: PathBuf = "/".into(),
        /// The master's name; `<host>_master` by default.
        id: Option<String> = None,
        /// Use the name that the minion on this machine has stored.
        minion_id_caching: bool = true,
        /// Convert an automatically found name to lower case.
        minion_id_lowercase: bool = false,
        /// Remove the domain from an automatically found name.
        minion_id_remove_domain: AnyValue = AnyValue(Value::Bool(false)),
        /// The domain added to a name without one.
        append_domain: Option<String> = None,
        /// The address to which both ports are bound.
        interface: String = "0.0.0.0".to_owned(),
        /// Whether to use IPv6.
        ipv6: Option<bool> = None,
        /// The port of publications.
        publish_port: Port = Port(4505),
        /// The port of requests.
        ret_port: Port = Port(4506),
        /// The port at which balancers ask over HTTP whether this master serves.
        health_port: Option<Port> = None,
        /// The transport between masters and minions.
        transport: Transport = Transport::ZeroMq,
        /// The name of the master's cluster; empty: no cluster.
        cluster_id: Option<String> = None,
        /// The other masters of the cluster: `host` or `host:port`.
        cluster_peers: OneOrMany = OneOrMany(Vec::new()),
        /// Directory of the keys of the cluster, masters and minions; default `pki_dir`.
        cluster_pki_dir: Option<PathBuf> = None,
        /// The port for the other masters.
        cluster_pool_port: Port = Port(4520),
        /// An older name of `cluster_pool_port`, which takes precedence.
        cluster_port: Option<Port> = None,
        /// The bus that carries the messages between the cluster's masters, in place
        /// of links between each two: `nats://[user:password@]host[:port]`, or `tls://`;
        /// several servers with commas between.
        cluster_bus: Option<String> = None,
        /// Certificates of the authorities that must have signed the certificate of
        /// `cluster_bus`; by default the system's.
        cluster_bus_ca: Option<PathBuf> = None,
        /// The client certificate of this master for `cluster_bus`.
        cluster_bus_cert: Option<PathBuf> = None,
        /// The key of `cluster_bus_cert`.
        cluster_bus_key: Option<PathBuf> = None,
        /// The file of credentials for `cluster_bus`, as `nsc` writes it.
        cluster_bus_credentials: Option<PathBuf> = None,
        /// The masters of the cluster share no files, and send each other decisions
        /// about keys.
        cluster_isolated_filesystem: bool = false,
        /// The secret that a master must know to join without a shared directory.
        cluster_secret: Option<String> = None,
        /// The fingerprint (SHA-256) that the public key of the cluster must have.
        cluster_pub_fingerprint: Option<String> = None,
        /// The passphrase of the key of the cluster.
        cluster_key_pass: Option<String> = None,
        /// How many masters of a cluster without shared files must have a return
        /// before it is acknowledged, if as many are connected: 1 or 2.
        cluster_return_copies: u64 = 2,
        /// Seconds for which a draining master still accepts connections after
        /// `health_port` answers 503: 0 to 60.
        cluster_drain_time: u64 = 3,
        /// The directory of the keys of the master and the minions.
        pki_dir: PathBuf = "/etc/salt/pki/master".into(),
        /// The directory of jobs, minion data and sessions.
        cachedir: PathBuf = "/var/cache/salt/master".into(),
        /// Sockets of the local event bus.
        sock_dir: PathBuf = "/var/run/salt/master".into(),
        /// How local programs get events; not an option of Salt's.
        event_bus_framing: BusFraming = BusFraming::Auto,
        /// Whether local programs connect by unix sockets or loopback TCP.
        ipc_mode: IpcMode = IpcMode::Ipc,
        /// TCP port for subscriptions to the local bus.
        tcp_master_pub_port: Port = Port(4512),
        /// TCP port for sending events to the local bus.
        tcp_master_pull_port: Port = Port(4513),
        /// The file with the process id.
        pidfile: PathBuf = "/var/run/salt-master.pid".into(),
        /// The file with the process id of `salt-api`.
        api_pidfile: PathBuf = "/var/run/salt-api.pid".into(),
        /// The log file of `salt-api`.
        api_logfile: PathBuf = "/var/log/salt/api".into(),
        /// Where the API runs: in `salt-api`, or within the master; not an option of
        /// Salt's.
        api: ApiHost = ApiHost::Separate,
        /// The options of `salt-api`, named as those of Salt's `rest_cherrypy`.
        rest_cherrypy: Map = Map::new(),
        /// The clients that `salt-api` offers: `local`, `runner` and so on.
        netapi_enable_clients: OneOrMany = OneOrMany(Vec::new()),
        /// Whether `salt-api` accepts requests with `raw_shell`.
        netapi_allow_raw_shell: bool = false,
        /// Seconds for which `salt-api` waits for a runner.
        rest_timeout: Seconds = Seconds(300.0),
        /// Make missing directories and set their modes at the start.
        verify_env: bool = true,
        /// The level of the log on the console.
        log_level: LevelName = "warning".into(),
        /// The path of the log file, or the address of a syslog.
        log_file: PathBuf = "/var/log/salt/master".into(),
        /// The level of the log file.
        log_level_logfile: Option<LevelName> = None,
        /// The log file of `salt-key`.
        key_logfile: PathBuf = "/var/log/salt/key".into(),
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
        /// Bits of new RSA keys.
        keysize: Count = 2048,
        /// The passphrase of the master's key.
        key_pass: Option<String> = None,
        /// The passphrase of the signing key.
        signing_key_pass: Option<String> = None,
        /// Sign the master's key with a second one.
        master_sign_pubkey: bool = false,
        /// The name of the second key, with which the master's key is signed.
        master_sign_key_name: String = "master_sign".to_owned(),
        /// Send a signature of the master's key that was made before.
        master_use_pubkey_signature: bool = false,
        /// The file with the signature of the master's key that was made before.
        master_pubkey_signature: Option<String> = None,
        /// The hash of fingerprints, files and job directories.
        hash_type: HashName = "sha256".into(),
        /// Accept every minion and every key.
        open_mode: bool = false,
        /// New minions may have ids with letters of any script and `@`, `+`, `=`, `%`; not
        /// an option of Salt's.
        wide_minion_ids: bool = false,
        /// Accept every new key.
        auto_accept: bool = false,
        /// A file with patterns of ids to accept.
        autosign_file: Option<PathBuf> = None,
        /// A file with patterns of ids to reject.
        autoreject_file: Option<PathBuf> = None,
        /// Minutes for which an approval of an id by a file name is valid.
        autosign_timeout: Count = 120,
        /// A directory with values of grains to accept.
        autosign_grains_dir: Option<PathBuf> = None,
        /// Allow group-writable files for decisions about keys.
        permissive_pki_access: bool = false,
        /// The largest number of minions; 0 for no limit.
        max_minions: Count = 0,
        /// The lowest accepted version of the protocol.
        minimum_auth_version: Count = 3,
        /// Fire an event for every sign-in.
        auth_events: bool = true,
        /// Make a new publish key when a minion's key is deleted.
        rotate_aes_key: bool = true,
        /// Seconds that a session key, and the publish key of a cluster, is valid.
        publish_session: Count = 86_400,
        /// Ping all minions after a new publish key.
        ping_on_rotate: bool = false,
        /// Sign publications.
        sign_pub_messages: bool = true,
        /// The signature algorithm of publications.
        publish_signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// The signature algorithm of minions' signed returns.
        signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// Refuse unsigned returns.
        require_minion_sign_messages: bool = false,
        /// Refuse returns with a wrong signature.
        drop_messages_signature_fail: bool = false,
        /// Seconds for which a request is valid; 0 for ever.
        request_server_ttl: Count = 0,
        /// Minions may delete their own keys.
        allow_minion_key_revoke: bool = true,
        /// Keep cached data of minions whose keys are deleted.
        preserve_minion_cache: bool = false,
        /// Send publications only to the minions in their target.
        zmq_filtering: bool = false,
        /// The number of publications that may wait for one minion.
        pub_hwm: Count = 1000,
        /// The number of connections that may wait to be accepted.
        zmq_backlog: Count = 1000,
        /// Use keep-alive on TCP connections.
        tcp_keepalive: bool = true,
        /// Seconds of silence before the first keep-alive probe.
        tcp_keepalive_idle: Seconds = Seconds(300.0),
        /// Unanswered keep-alive probes after which a connection is dead.
        tcp_keepalive_cnt: i64 = -1,
        /// Seconds between keep-alive probes.
        tcp_keepalive_intvl: i64 = -1,
        /// Threads that handle requests.
        worker_threads: Count = 5,
        /// The largest number of open files.
        max_open_files: Count = 100_000,
        /// Seconds between two runs of periodic work.
        loop_interval: Seconds = Seconds(60.0),
        /// Seconds for which jobs are kept; 0 for ever.
        keep_jobs_seconds: Count = 86_400,
        /// Hours for which jobs are kept; `keep_jobs_seconds` takes precedence.
        keep_jobs: Count = 24,
        /// Seconds within which a returning minion gets its missed jobs; 0 for never.
        job_replay_window: Count = 30,
        /// MiB that one minion may make this master store for jobs that the master
        /// did not start (schedules, `salt-call`); 0 for no limit.
        own_jobs_max_size: Count = 2048,
        /// Where minion keys, minion data, jobs and tokens are kept: a URL such as
        /// `redis://host/0`; empty: in files. Not an option of Salt's.
        store: String = String::new(),
        /// Whether jobs are stored.
        job_cache: bool = true,
        /// The place where jobs are stored.
        master_job_cache: JobCacheName = JobCacheName::default(),
        /// A returner to which minions send their results instead of the job cache.
        ext_job_cache: String = String::new(),
        /// Record when a job's last return arrived.
        job_cache_store_endtime: bool = false,
        /// Job ids that never repeat on one host.
        unique_jid: bool = false,
        /// Keep minions' grains and pillar.
        minion_data_cache: bool = true,
        /// Whether targets by grains, pillar and address match minions without cached data.
        target_uncached_minions: bool = false,
        /// `3006`: also write copies for programs of Salt 3006 and 3007. Not an option of Salt's.
        minion_data_layout: crate::setting::DataLayout = crate::setting::DataLayout::Salt3008,
        /// Fire an event when minion data is stored.
        minion_data_cache_events: bool = true,
        /// The largest size of an event, in bytes.
        max_event_size: Count = 1_048_576,
        /// Seconds for which the client waits for returns.
        timeout: Seconds = Seconds(5.0),
        /// Seconds for which the client waits for answers about a running job.
        gather_job_timeout: Seconds = Seconds(10.0),
        /// Seconds for which the client waits for the master to accept a job.
        publish_timeout: Seconds = Seconds(30.0),
        /// Show minions that do not answer.
        show_timeout: bool = true,
        /// Show the job's id.
        show_jid: bool = false,
        /// Show a summary.
        cli_summary: bool = false,
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
        /// Groups of minions.
        nodegroups: Map = Map::new(),
        /// The range server for the hosts of `-R` and `R@`: its host and
        /// port.
        range_server: String = "range:80".to_owned(),
        /// Which users may publish which functions.
        publisher_acl: Map = Map::new(),
        /// Which users may not publish, and which functions nobody may.
        publisher_acl_blacklist: Map = Map::new(),
        /// Make key files only for users that exist.
        client_acl_verify: bool = true,
        /// Apply the rights of a user also behind sudo.
        sudo_acl: bool = false,
        /// Which commands minions may publish.
        peer: Map = Map::new(),
        /// Which runners minions may run.
        peer_run: Map = Map::new(),
        /// Which minions may read which values of others' mines.
        mine_get: AnyValue = AnyValue::default(),
        /// Environments and their directories.
        file_roots: BTreeMap<String, Vec<PathBuf>> =
            BTreeMap::from([("base".to_owned(), vec!["/srv/salt".into(), "/srv/spm/salt".into()])]),
        /// Environments and their pillar directories.
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
        /// Compile external pillars before the files, which can then use them.
        ext_pillar_first: bool = false,
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
        /// Hide from minions why a pillar file failed.
        pillar_safe_render_error: bool = true,
        /// The environment of pillars.
        pillarenv: Option<String> = None,
        /// Programs that say which states a minion has.
        master_tops: MasterTops = MasterTops::default(),
        /// The sources of files, in this order.
        fileserver_backend: OneOrMany = OneOrMany(vec!["roots".to_owned()]),
        /// Follow links and serve their destinations.
        fileserver_followsymlinks: bool = true,
        /// Do not list links.
        fileserver_ignoresymlinks: bool = false,
        /// Regular expressions of files that are not served.
        file_ignore_regex: OneOrMany = OneOrMany::default(),
        /// Globs of files that are not served.
        file_ignore_glob: OneOrMany = OneOrMany::default(),
        /// The size of a piece of a file, in bytes.
        file_buffer_size: Count = 1_048_576,
        /// Whether minions may push files.
        file_recv: bool = false,
        /// The largest file that minions may push, in MiB.
        file_recv_max_size: Count = 100,
        /// The environment of the files that minions have pushed.
        minionfs_env: String = "base".to_owned(),
        /// The path below which pushed files are served.
        minionfs_mountpoint: String = String::new(),
        /// Minions whose pushed files are served.
        minionfs_whitelist: OneOrMany = OneOrMany::default(),
        /// Minions whose pushed files are not served.
        minionfs_blacklist: OneOrMany = OneOrMany::default(),
        /// The name of the top file.
        state_top: String = "top.sls".to_owned(),
        /// The only environment whose top file is used.
        state_top_saltenv: Option<String> = None,
        /// How top files are merged.
        top_file_merging_strategy: String = "merge".to_owned(),
        /// The order of environments.
        env_order: OneOrMany = OneOrMany::default(),
        /// The environment whose top file is the default.
        default_top: String = "base".to_owned(),
        /// Renderers of SLS files.
        renderer: String = "jinja|yaml".to_owned(),
        /// Stop a state run at the first failure.
        failhard: bool = false,
        /// Run states in the order in which they are written.
        state_auto_order: bool = true,
        /// Fire an event for every state.
        state_events: bool = false,
        /// Combine states of one kind where possible.
        state_aggregate: AnyValue = AnyValue(Value::Bool(false)),
        /// Options of Jinja.
        jinja_env: Map = Map::new(),
        /// Options of Jinja in SLS files.
        jinja_sls_env: Map = Map::new(),
        /// Strip blanks before blocks.
        jinja_lstrip_blocks: bool = false,
        /// Strip the line end after blocks.
        jinja_trim_blocks: bool = false,
        /// The rights of users who log in, by login method.
        external_auth: LoginWays = LoginWays::default(),
        /// A module in Python that returns the rights of users.
        eauth_acl_module: String = String::new(),
        /// Seconds for which a token is valid.
        token_expire: Count = 43_200,
        /// Whether users may ask for another lifetime of their tokens.
        token_expire_user_override: AnyValue = AnyValue(Value::Bool(false)),
        /// Rights of a user are looked up when the token is made.
        keep_acl_in_token: bool = false,
        /// The entry for everybody applies in addition to a user's own.
        permissive_acl: bool = false,
        /// Where the custom Python modules are that `saltutil.sync_*` has fetched.
        extension_modules: PathBuf = "/var/cache/salt/master/extmods".into(),
        /// Custom Python code that runs beside the daemon: a list of names, and
        /// of maps from a name to its arguments.
        engines: AnyValue = AnyValue(Value::List(Vec::new())),
        /// The Python of custom code; empty: that of Salt's packages, or
        /// `python3`. Not an option of Salt's.
        python_executable: String = String::new(),
        /// Take functions that Halite lacks from the Salt of this Python, if it
        /// has one. Not an option of Salt's.
        python_fallback: bool = true,
        /// Store the returns of runners.
        runner_returns: bool = true,
        /// Seconds that a runner may take; 0 for ever. Not an option of Salt's.
        runner_timeout: Count = 86_400,
        /// Scheduled runners of the master, each with its times.
        schedule: Schedule = Schedule::default(),
        /// Files of reactions, by the tags of events.
        reactor: Reactions = Reactions::default(),
        /// Threads that run reactions.
        reactor_worker_threads: Count = 10,
        /// The number of events that may wait for a reaction.
        reactor_worker_hwm: Count = 10_000,
        /// Returners that get all events.
        event_return: EventReturners = EventReturners::default(),
        /// The number of events that are collected for `event_return`.
        event_return_queue: Count = 0,
        /// Seconds after which collected events go to `event_return`; 0: no limit.
        event_return_queue_max_seconds: Count = 0,
        /// Tags of the events for `event_return`, with wildcards; empty for all.
        event_return_whitelist: OneOrMany = OneOrMany::default(),
        /// Tags of the events that `event_return` does not get.
        event_return_blacklist: OneOrMany = OneOrMany::default(),
        /// The directory of queues.
        sqlite_queue_dir: PathBuf = "/var/cache/salt/master/queues".into(),
        /// The queue of runners for `queue.insert_runner`.
        runner_queue: Map = Map::new(),
        /// Fire events about connected minions.
        presence_events: bool = false,
        /// Fire events about changed files.
        fileserver_events: bool = false,
        /// Seconds between two scans of `file_roots` for changes.
        roots_update_interval: Count = 60,
        /// Fire events about the durations of requests.
        master_stats: bool = false,
        /// Seconds between two events of `master_stats`.
        master_stats_event_iter: Count = 60,
        /// The page of metrics for monitoring.
        metrics: Map = Map::new(),
        /// This master gives its jobs to syndics.
        order_masters: bool = false,
        /// A name that jobs carry.
        master_id: Option<String> = None,
    }
}
