//! What a master's files say.

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
        /// In front of every path.
        root_dir: PathBuf = "/".into(),
        /// The master's name; `<host>_master` by default.
        id: Option<String> = None,
        /// Heed the name that the minion on this machine has kept.
        minion_id_caching: bool = true,
        /// A found name is made lower case.
        minion_id_lowercase: bool = false,
        /// A found name loses its domain.
        minion_id_remove_domain: AnyValue = AnyValue(Value::Bool(false)),
        /// A domain for a name without it.
        append_domain: Option<String> = None,
        /// The address both ports are bound to.
        interface: String = "0.0.0.0".to_owned(),
        /// Whether to use IPv6.
        ipv6: Option<bool> = None,
        /// The port of publications.
        publish_port: Port = Port(4505),
        /// The port of requests.
        ret_port: Port = Port(4506),
        /// The port where balancers ask over HTTP whether this master serves.
        health_port: Option<Port> = None,
        /// How masters and minions talk.
        transport: Transport = Transport::ZeroMq,
        /// The name of the cluster that this master belongs to; nothing: to none.
        cluster_id: Option<String> = None,
        /// The other masters of the cluster: `host` or `host:port`.
        cluster_peers: OneOrMany = OneOrMany(Vec::new()),
        /// Keys of the cluster, its masters and its minions; by default `pki_dir`.
        cluster_pki_dir: Option<PathBuf> = None,
        /// The port for the other masters.
        cluster_pool_port: Port = Port(4520),
        /// An older name of `cluster_pool_port`, which wins.
        cluster_port: Option<Port> = None,
        /// What carries what the masters of the cluster tell each other, in place of
        /// links between each two: `nats://[user:password@]host[:port]`, or `tls://`;
        /// several servers with commas between.
        cluster_bus: Option<String> = None,
        /// Certificates of the authorities that `cluster_bus` must come from; the
        /// system's if it is not set.
        cluster_bus_ca: Option<PathBuf> = None,
        /// A certificate that this master shows to `cluster_bus`.
        cluster_bus_cert: Option<PathBuf> = None,
        /// The key of `cluster_bus_cert`.
        cluster_bus_key: Option<PathBuf> = None,
        /// A file with which this master signs in at `cluster_bus`, as `nsc` writes it.
        cluster_bus_credentials: Option<PathBuf> = None,
        /// The masters of the cluster share no files: they tell each other what is
        /// decided about keys.
        cluster_isolated_filesystem: bool = false,
        /// What a master proves to know that joins without a shared directory.
        cluster_secret: Option<String> = None,
        /// The fingerprint (SHA-256) that the public key of the cluster must have.
        cluster_pub_fingerprint: Option<String> = None,
        /// The passphrase of the key of the cluster.
        cluster_key_pass: Option<String> = None,
        /// How many masters of a cluster without shared files have a return before its
        /// minion is told so, where as many are connected: 1 or 2.
        cluster_return_copies: u64 = 2,
        /// Seconds for which a master that hands its minions over still accepts
        /// connections after `health_port` says 503: 0 to 60.
        cluster_drain_time: u64 = 3,
        /// Keys of the master and the minions.
        pki_dir: PathBuf = "/etc/salt/pki/master".into(),
        /// Jobs, minion data, sessions.
        cachedir: PathBuf = "/var/cache/salt/master".into(),
        /// Sockets of the local event bus.
        sock_dir: PathBuf = "/var/run/salt/master".into(),
        /// How local programs get events; not an option of Salt's.
        event_bus_framing: BusFraming = BusFraming::Auto,
        /// Unix sockets or loopback TCP.
        ipc_mode: IpcMode = IpcMode::Ipc,
        /// TCP port of the local bus to subscribe at.
        tcp_master_pub_port: Port = Port(4512),
        /// TCP port of the local bus to send events to.
        tcp_master_pull_port: Port = Port(4513),
        /// The file with the process id.
        pidfile: PathBuf = "/var/run/salt-master.pid".into(),
        /// The file with the process id of `salt-api`.
        api_pidfile: PathBuf = "/var/run/salt-api.pid".into(),
        /// Where the log of `salt-api` goes.
        api_logfile: PathBuf = "/var/log/salt/api".into(),
        /// Where the API runs: in `salt-api`, or within the master; not an option of
        /// Salt's.
        api: ApiHost = ApiHost::Separate,
        /// What `salt-api` is to do, by the options of `rest_cherrypy`.
        rest_cherrypy: Map = Map::new(),
        /// What may be asked of `salt-api`: `local`, `runner` and so on.
        netapi_enable_clients: OneOrMany = OneOrMany(Vec::new()),
        /// Whether `salt-api` takes requests with `raw_shell`.
        netapi_allow_raw_shell: bool = false,
        /// Seconds for which `salt-api` waits for a runner.
        rest_timeout: Seconds = Seconds(300.0),
        /// Make directories and set their modes.
        verify_env: bool = true,
        /// How much goes to the console.
        log_level: LevelName = "warning".into(),
        /// Where the log goes.
        log_file: PathBuf = "/var/log/salt/master".into(),
        /// How much goes to the file.
        log_level_logfile: Option<LevelName> = None,
        /// Where the log of `salt-key` goes.
        key_logfile: PathBuf = "/var/log/salt/key".into(),
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
        /// Bits of new keys.
        keysize: Count = 2048,
        /// The passphrase of the master's key.
        key_pass: Option<String> = None,
        /// The passphrase of the signing key.
        signing_key_pass: Option<String> = None,
        /// Sign the master's key with a second one.
        master_sign_pubkey: bool = false,
        /// The name of that second key.
        master_sign_key_name: String = "master_sign".to_owned(),
        /// Send a signature made before instead.
        master_use_pubkey_signature: bool = false,
        /// The file with that signature.
        master_pubkey_signature: Option<String> = None,
        /// The hash of fingerprints, files and job directories.
        hash_type: HashName = "sha256".into(),
        /// Take every minion and every key.
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
        /// Minutes an approval by name holds.
        autosign_timeout: Count = 120,
        /// A directory with values of grains to accept.
        autosign_grains_dir: Option<PathBuf> = None,
        /// Files that decide about keys may be writable for their group.
        permissive_pki_access: bool = false,
        /// Minions at most; 0 for any number.
        max_minions: Count = 0,
        /// The lowest version of the protocol that is accepted.
        minimum_auth_version: Count = 3,
        /// Fire an event for every sign-in.
        auth_events: bool = true,
        /// Make a new publish key when a minion's key is deleted.
        rotate_aes_key: bool = true,
        /// Seconds a session key lives, and the publish key of a cluster.
        publish_session: Count = 86_400,
        /// Ping all minions after a new publish key.
        ping_on_rotate: bool = false,
        /// Sign publications.
        sign_pub_messages: bool = true,
        /// How publications are signed.
        publish_signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// How signed returns of minions are checked.
        signing_algorithm: String = "PKCS1v15-SHA1".to_owned(),
        /// Refuse returns that are not signed.
        require_minion_sign_messages: bool = false,
        /// Refuse returns whose signature is wrong.
        drop_messages_signature_fail: bool = false,
        /// Seconds a request is good for; 0 for ever.
        request_server_ttl: Count = 0,
        /// Minions may delete their own keys.
        allow_minion_key_revoke: bool = true,
        /// Keep data of minions whose keys are deleted.
        preserve_minion_cache: bool = false,
        /// Publish to the minions that are meant only.
        zmq_filtering: bool = false,
        /// Publications that may wait for one minion.
        pub_hwm: Count = 1000,
        /// Connections that may wait to be accepted.
        zmq_backlog: Count = 1000,
        /// Keep-alive on TCP connections.
        tcp_keepalive: bool = true,
        /// Seconds of silence before the first question.
        tcp_keepalive_idle: Seconds = Seconds(300.0),
        /// Unanswered questions before a connection is dead.
        tcp_keepalive_cnt: i64 = -1,
        /// Seconds between questions.
        tcp_keepalive_intvl: i64 = -1,
        /// Threads that handle requests.
        worker_threads: Count = 5,
        /// Open files at most.
        max_open_files: Count = 100_000,
        /// Seconds between rounds of housekeeping.
        loop_interval: Seconds = Seconds(60.0),
        /// Seconds that jobs are kept; 0 for ever.
        keep_jobs_seconds: Count = 86_400,
        /// The same in hours, as up to 3006; seconds win.
        keep_jobs: Count = 24,
        /// Seconds within which a minion that comes back is told of missed jobs; 0 for never.
        job_replay_window: Count = 30,
        /// MiB that one minion may make this master keep of jobs that it has not
        /// begun (schedules, `salt-call`), while jobs are kept; 0 for no bound.
        own_jobs_max_size: Count = 2048,
        /// Where keys of minions, their data, jobs and tokens are kept: a URL such as
        /// `redis://host/0`; nothing: in files. Not an option of Salt's.
        store: String = String::new(),
        /// Keep jobs at all.
        job_cache: bool = true,
        /// Where jobs are kept.
        master_job_cache: JobCacheName = JobCacheName::default(),
        /// A returner that minions send to instead.
        ext_job_cache: String = String::new(),
        /// Note when a job's last return came.
        job_cache_store_endtime: bool = false,
        /// Job ids that never repeat on one host.
        unique_jid: bool = false,
        /// Keep minions' grains and pillar.
        minion_data_cache: bool = true,
        /// Commands by grains, pillar and addresses mean minions of whom none are kept, as in 3006.
        target_uncached_minions: bool = false,
        /// `3006`: copies lie where programs of Salt 3006 and 3007 look. Not an option of Salt's.
        minion_data_layout: crate::setting::DataLayout = crate::setting::DataLayout::Salt3008,
        /// Fire an event when they are kept.
        minion_data_cache_events: bool = true,
        /// Largest event.
        max_event_size: Count = 1_048_576,
        /// Seconds the client waits for returns.
        timeout: Seconds = Seconds(5.0),
        /// Seconds it waits for what it asks about a job.
        gather_job_timeout: Seconds = Seconds(10.0),
        /// Seconds it waits for the master to take a job.
        publish_timeout: Seconds = Seconds(30.0),
        /// Show minions that do not answer.
        show_timeout: bool = true,
        /// Show the job's id.
        show_jid: bool = false,
        /// Show a summary.
        cli_summary: bool = false,
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
        /// Groups of minions.
        nodegroups: Map = Map::new(),
        /// Who knows the hosts of `-R` and `R@`: the host and port of a range
        /// server.
        range_server: String = "range:80".to_owned(),
        /// Who may publish what.
        publisher_acl: Map = Map::new(),
        /// Who may not.
        publisher_acl_blacklist: Map = Map::new(),
        /// Make keys only for users that exist.
        client_acl_verify: bool = true,
        /// The rights of users behind sudo.
        sudo_acl: bool = false,
        /// What minions may publish.
        peer: Map = Map::new(),
        /// What minions may run here.
        peer_run: Map = Map::new(),
        /// Who may see whose mine.
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
        /// What a pillar file includes wins over the file.
        pillar_includes_override_sls: bool = false,
        /// Programs and directories that add to pillars.
        ext_pillar: ExternalPillars = ExternalPillars::default(),
        /// External pillars come before the files, which see them.
        ext_pillar_first: bool = false,
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
        /// Minions are not told why a pillar file failed.
        pillar_safe_render_error: bool = true,
        /// The environment of pillars.
        pillarenv: Option<String> = None,
        /// Programs that say which states a minion has.
        master_tops: MasterTops = MasterTops::default(),
        /// Where files come from, in this order.
        fileserver_backend: OneOrMany = OneOrMany(vec!["roots".to_owned()]),
        /// Serve what links lead to.
        fileserver_followsymlinks: bool = true,
        /// Do not list links.
        fileserver_ignoresymlinks: bool = false,
        /// Files that are not served.
        file_ignore_regex: OneOrMany = OneOrMany::default(),
        /// Files that are not served.
        file_ignore_glob: OneOrMany = OneOrMany::default(),
        /// Bytes of a piece of a file.
        file_buffer_size: Count = 1_048_576,
        /// Minions may send files.
        file_recv: bool = false,
        /// Largest file they may send, in MiB.
        file_recv_max_size: Count = 100,
        /// The environment of the files that minions have sent.
        minionfs_env: String = "base".to_owned(),
        /// The path that they are below.
        minionfs_mountpoint: String = String::new(),
        /// Minions whose files are served.
        minionfs_whitelist: OneOrMany = OneOrMany::default(),
        /// Minions whose files are not served.
        minionfs_blacklist: OneOrMany = OneOrMany::default(),
        /// The top file's name.
        state_top: String = "top.sls".to_owned(),
        /// Its environment.
        state_top_saltenv: Option<String> = None,
        /// How top files are merged.
        top_file_merging_strategy: String = "merge".to_owned(),
        /// The order of environments.
        env_order: OneOrMany = OneOrMany::default(),
        /// The environment of top files.
        default_top: String = "base".to_owned(),
        /// Renderers of SLS files.
        renderer: String = "jinja|yaml".to_owned(),
        /// Stop a state run at the first failure.
        failhard: bool = false,
        /// Run states in the order of the text.
        state_auto_order: bool = true,
        /// Fire an event for every state.
        state_events: bool = false,
        /// Take states together.
        state_aggregate: AnyValue = AnyValue(Value::Bool(false)),
        /// Options of Jinja.
        jinja_env: Map = Map::new(),
        /// Options of Jinja in SLS files.
        jinja_sls_env: Map = Map::new(),
        /// Strip blanks before blocks.
        jinja_lstrip_blocks: bool = false,
        /// Strip the line end behind blocks.
        jinja_trim_blocks: bool = false,
        /// Who may do what after logging in, by the way to log in.
        external_auth: LoginWays = LoginWays::default(),
        /// A module in Python that says what users may do.
        eauth_acl_module: String = String::new(),
        /// Seconds that a token is good for.
        token_expire: Count = 43_200,
        /// Whether users may ask for another lifetime of their tokens.
        token_expire_user_override: AnyValue = AnyValue(Value::Bool(false)),
        /// Rights of a user are looked up when the token is made.
        keep_acl_in_token: bool = false,
        /// The entry for everybody adds to those for a user.
        permissive_acl: bool = false,
        /// Where users' own Python modules lie that `saltutil.sync_*` has fetched.
        extension_modules: PathBuf = "/var/cache/salt/master/extmods".into(),
        /// Users' Python code that runs beside the daemon: a list of names, and
        /// of maps from a name to what it gets.
        engines: AnyValue = AnyValue(Value::List(Vec::new())),
        /// The Python of users' code; nothing: that of Salt's packages, or
        /// `python3`. Not an option of Salt's.
        python_executable: String = String::new(),
        /// Functions that are not here are those of the Salt that this Python
        /// has, if it has one. Not an option of Salt's.
        python_fallback: bool = true,
        /// Keep the jobs of runners.
        runner_returns: bool = true,
        /// Seconds that a runner may take; 0 for ever. Not an option of Salt's.
        runner_timeout: Count = 86_400,
        /// Runners that the master runs by itself, each with its times.
        schedule: Schedule = Schedule::default(),
        /// Files that events call for, by their tags.
        reactor: Reactions = Reactions::default(),
        /// Threads that react to events.
        reactor_worker_threads: Count = 10,
        /// Events that may wait for them.
        reactor_worker_hwm: Count = 10_000,
        /// Returners that get all events.
        event_return: EventReturners = EventReturners::default(),
        /// Events that are gathered before they get them.
        event_return_queue: Count = 0,
        /// Seconds after which they get them in any case; 0 for never.
        event_return_queue_max_seconds: Count = 0,
        /// Tags of the events that they get, with wildcards; none for all.
        event_return_whitelist: OneOrMany = OneOrMany::default(),
        /// Tags of the events that they do not get.
        event_return_blacklist: OneOrMany = OneOrMany::default(),
        /// Where queues are kept.
        sqlite_queue_dir: PathBuf = "/var/cache/salt/master/queues".into(),
        /// The queue of runners.
        runner_queue: Map = Map::new(),
        /// Tell who is connected.
        presence_events: bool = false,
        /// Tell which files have changed.
        fileserver_events: bool = false,
        /// Seconds between looks at them.
        roots_update_interval: Count = 60,
        /// Tell how long requests take.
        master_stats: bool = false,
        /// Seconds between two such events.
        master_stats_event_iter: Count = 60,
        /// What monitoring may ask for, and where.
        metrics: Map = Map::new(),
        /// This master gives its jobs to syndics.
        order_masters: bool = false,
        /// A name that goes along with jobs.
        master_id: Option<String> = None,
    }
}
