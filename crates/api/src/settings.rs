//! The settings of the API, from the options of `rest_cherrypy`.
//!
//! Invariant: an option of that section is honoured, warned about or a mistake, and
//! every mistake says what to write instead.

mod section;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use halite_config::{ConfigError, MasterConfig, Warning};
use halite_metrics::MetricsSettings;
use halite_proto::{Map, Value};

use crate::address::Address;
use section::Section;

/// The clients that can be enabled.
pub(crate) const CLIENTS: [&str; 8] = [
    "local",
    "local_async",
    "local_batch",
    "local_subset",
    "runner",
    "runner_async",
    "wheel",
    "wheel_async",
];

/// The option that all others stand in.
const SECTION: &str = "rest_cherrypy";

/// Failed logins a minute with one name from one address, where the
/// configuration does not say.
const LOGIN_FAILURES: u32 = 10;

/// Salt's default of `max_request_body_size`, in bytes.
const BODY_BYTES_MAX: usize = 1_048_576;

/// A larger bound would not be one.
const BODY_BYTES_LIMIT: u64 = 1 << 30;

/// Options that CherryPy needs and this server does not.
const WITHOUT_EFFECT: [(&str, &str); 5] = [
    ("expire_responses", "times are always limited"),
    ("collect_stats", "/stats always counts"),
    (
        "debug",
        "set the log level instead; answers contain no debugging output",
    ),
    ("log_access_file", "requests are in the log, at level info"),
    ("log_error_file", "errors are in the log"),
];

/// Options that are honoured.
const HONOURED: [&str; 28] = [
    "port",
    "host",
    "ssl_crt",
    "ssl_key",
    "ssl_chain",
    "disable_ssl",
    "webhook_url",
    "webhook_disable_auth",
    "stats_disable_auth",
    "thread_pool",
    "socket_queue_size",
    "queue_size",
    "max_request_body_size",
    "static",
    "static_path",
    "app",
    "app_path",
    "favicon",
    "root_prefix",
    "enable_sessions",
    "api_acl",
    "authorized_ips",
    "cors_origins",
    "page_path",
    "other_masters",
    "other_masters_ca",
    "trusted_proxies",
    "metrics",
];

/// The one honoured option that is neither Salt's nor a list.
const LOGIN_FAILURES_OPTION: &str = "login_failures_per_minute";

/// The files of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// `ssl_crt`.
    pub certificate: PathBuf,
    /// `ssl_key`.
    pub key: PathBuf,
    /// `ssl_chain`.
    pub chain: Option<PathBuf>,
}

/// Everything that the configuration says.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// `host` and `port`.
    pub listen: SocketAddr,
    /// TLS, unless `disable_ssl`.
    pub tls: Option<TlsFiles>,
    /// `webhook_url`, without slashes around it.
    pub webhook_url: String,
    /// `webhook_disable_auth`.
    pub webhook_is_open: bool,
    /// `stats_disable_auth`.
    pub stats_are_open: bool,
    /// `thread_pool`: commands at once.
    pub commands_max: usize,
    /// `socket_queue_size`: connections that wait to be accepted.
    pub backlog: u32,
    /// `max_request_body_size`, in bytes.
    pub body_bytes_max: usize,
    /// `static`: a directory of files.
    pub static_dir: Option<PathBuf>,
    /// `static_path`, with a slash in front and none behind.
    pub static_path: String,
    /// `app`: a page.
    pub app: Option<PathBuf>,
    /// `app_path`, without slashes around it.
    pub app_path: String,
    /// `page_path`: where the page of the fleet is, without slashes around it; not
    /// an option of Salt's.
    pub page_path: Option<String>,
    /// `favicon`.
    pub favicon: Option<PathBuf>,
    /// `root_prefix`, with a slash in front and none behind; empty for none.
    pub root_prefix: String,
    /// `enable_sessions`.
    pub has_sessions: bool,
    /// `api_acl`: users, and the addresses that they may log in from.
    pub api_acl: Option<Map>,
    /// `authorized_ips`: who may ask anything.
    pub authorized_ips: Vec<String>,
    /// `cors_origins`: whose pages may ask; not an option of Salt's.
    pub cors_origins: Vec<String>,
    /// `login_failures_per_minute`; not an option of Salt's.
    pub login_failures_max: u32,
    /// `other_masters`: the APIs of other masters that this one answers for, too; not
    /// an option of Salt's.
    pub other_masters: Vec<Address>,
    /// `other_masters_ca`: who has signed their certificates; not an option of Salt's.
    pub other_masters_ca: Option<PathBuf>,
    /// `trusted_proxies`: the addresses whose `X-Forwarded-For` is believed; not an
    /// option of Salt's. Without it, those of this machine.
    pub trusted_proxies: Option<Vec<IpAddr>>,
    /// `metrics`, as masters have it; not an option of Salt's here.
    pub metrics: Option<MetricsSettings>,
    /// `id`: what the master of this machine is called where several are.
    pub own_name: String,
    /// `netapi_enable_clients`.
    pub clients: BTreeSet<String>,
    /// `netapi_allow_raw_shell`.
    pub allows_raw_shell: bool,
    /// `external_auth`, for the rights that a login shows.
    pub external_auth: Map,
    /// `rest_timeout`: how long a runner is waited for.
    pub runner_timeout: std::time::Duration,
}

/// A mistake in one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The option, or nothing for all of the section.
    pub option: &'static str,
    /// What is wrong, and what to do.
    pub why: String,
}

fn mistake(option: &'static str, why: impl Into<String>) -> Mistake {
    let why = why.into();
    Mistake { option, why }
}

/// The mistakes that keep the API from starting, with their places.
pub fn faults(config: &MasterConfig) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    for other in ["rest_tornado", "rest_wsgi"] {
        if config.opts().get(other).is_some_and(Value::is_true) {
            let why = "salt-api supports rest_cherrypy only: write its options under that name";
            faults.push(config.unusable(other, None, "", why.to_owned()));
        }
    }
    if let Err(mistake) = ApiSettings::new(config) {
        let Mistake { option, why } = mistake;
        let named = match option.is_empty() {
            true => why,
            false => format!("{option}: {why}"),
        };
        let place = match option {
            "netapi_enable_clients" => option,
            _ => SECTION,
        };
        faults.push(config.unusable(place, None, option, named));
    }
    faults
}

/// What an administrator should look at.
pub fn doubts(config: &MasterConfig) -> Vec<Warning> {
    let section = &config.rest_cherrypy;
    let given = WITHOUT_EFFECT
        .iter()
        .filter(|(name, _)| section.contains_key(name));
    let mut doubts: Vec<Warning> = given
        .filter_map(|(name, why)| {
            let text = format!("{name} has no effect: {why}");
            config.odd_within(SECTION, &[name], &text)
        })
        .collect();
    let open = ApiSettings::new(config).ok();
    if let Some(settings) = open
        && settings.tls.is_none()
        && !settings.listen.ip().is_loopback()
    {
        let text = "disable_ssl: passwords and tokens travel in the clear to this address";
        doubts.extend(config.odd_within(SECTION, &["disable_ssl"], text));
    }
    if config.netapi_enable_clients.0.is_empty() {
        let text = "all clients are disabled: list the allowed ones in netapi_enable_clients";
        doubts.extend(config.odd_within(SECTION, &[], text));
    }
    doubts
}

impl ApiSettings {
    /// Reads the options.
    ///
    /// # Errors
    /// The first mistake.
    pub fn new(config: &MasterConfig) -> Result<Self, Mistake> {
        let section = Section(&config.rest_cherrypy);
        if config.rest_cherrypy.is_empty() {
            return Err(mistake(
                "",
                "salt-api has nothing to serve: write `rest_cherrypy:` with a `port` into the \
                 master's configuration",
            ));
        }
        section.check_names()?;
        let tls = section.tls()?;
        let external_auth = config.opts().get("external_auth").and_then(Value::as_map);
        Ok(Self {
            listen: section.listen(tls.is_some())?,
            tls,
            webhook_url: section.page("webhook_url", "hook")?,
            webhook_is_open: section.flag("webhook_disable_auth", false)?,
            stats_are_open: section.flag("stats_disable_auth", false)?,
            commands_max: section.count("thread_pool", 100, 10_000)?,
            backlog: section.backlog()?,
            body_bytes_max: section.count(
                "max_request_body_size",
                BODY_BYTES_MAX as u64,
                BODY_BYTES_LIMIT,
            )?,
            static_dir: section.file("static")?,
            static_path: format!("/{}", section.page("static_path", "static")?),
            app: section.file("app")?,
            app_path: section.page("app_path", "app")?,
            page_path: section.fleet_page()?,
            favicon: section.file("favicon")?,
            root_prefix: match section.path("root_prefix", "")?.as_str() {
                "" => String::new(),
                prefix => format!("/{prefix}"),
            },
            has_sessions: section.flag("enable_sessions", true)?,
            api_acl: section.acl()?,
            authorized_ips: section.texts("authorized_ips")?,
            cors_origins: section.origins()?,
            login_failures_max: match section.0.get(LOGIN_FAILURES_OPTION) {
                None => LOGIN_FAILURES,
                Some(value) => value
                    .as_i64()
                    .and_then(|number| u32::try_from(number).ok())
                    .ok_or_else(|| {
                        mistake(
                            LOGIN_FAILURES_OPTION,
                            "it must be a number; 0 means no limit",
                        )
                    })?,
            },
            other_masters: section.other_masters()?,
            other_masters_ca: section.file("other_masters_ca")?,
            trusted_proxies: section.addresses("trusted_proxies")?,
            metrics: section.metrics()?,
            own_name: match config.opts().get("id").and_then(Value::as_str) {
                Some(id) if !id.is_empty() => id.to_owned(),
                _ => "this master".to_owned(),
            },
            clients: enabled(config)?,
            allows_raw_shell: config.netapi_allow_raw_shell,
            external_auth: external_auth.cloned().unwrap_or_default(),
            runner_timeout: config.rest_timeout.duration(),
        })
    }

    /// Whether an address is that of a trusted proxy.
    pub fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match &self.trusted_proxies {
            None => address.is_loopback(),
            Some(listed) => listed.contains(&address),
        }
    }

    /// Whether somebody may log in from an address.
    pub fn may_log_in(&self, user: Option<&str>, from: IpAddr) -> bool {
        let users = self.api_acl.as_ref().and_then(|acl| acl.get("users"));
        let Some(users) = users
            .and_then(Value::as_map)
            .filter(|users| !users.is_empty())
        else {
            // As in Salt, a list without users lets nobody in.
            return self.api_acl.is_none();
        };
        let from = from.to_string();
        let named = user
            .and_then(|user| users.get(user))
            .or_else(|| users.get("*"));
        let listed = named.and_then(Value::as_list).unwrap_or_default();
        let mut listed = listed.iter().filter_map(Value::as_str);
        listed.any(|address| address == "*" || address == from)
    }
}

fn enabled(config: &MasterConfig) -> Result<BTreeSet<String>, Mistake> {
    let clients = &config.netapi_enable_clients.0;
    for client in clients {
        if client == "ssh" {
            let why = "ssh is not supported, as Halite has no salt-ssh: remove it";
            return Err(mistake("netapi_enable_clients", why));
        }
        if !CLIENTS.contains(&client.as_str()) {
            let why = format!(
                "unknown client {client}; known ones are {}",
                CLIENTS.join(", ")
            );
            return Err(mistake("netapi_enable_clients", why));
        }
    }
    Ok(clients.iter().cloned().collect())
}
