//! What the API is to do, from the options of `rest_cherrypy`.
//!
//! Invariant: an option of that section is honoured, warned about or a mistake,
//! and every mistake says what to write instead.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use halite_config::{ConfigError, MasterConfig, Warning};
use halite_proto::{Map, Value, python};

/// What can be asked for.
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

/// Pages with names of their own.
const PAGES: [&str; 12] = [
    "index",
    "login",
    "logout",
    "minions",
    "jobs",
    "token",
    "run",
    "keys",
    "events",
    "ws",
    "stats",
    "favicon.ico",
];

/// Options that name pages of an administrator's, with their defaults.
const OWN_PAGES: [(&str, &str); 3] = [
    ("webhook_url", "hook"),
    ("static_path", "static"),
    ("app_path", "app"),
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
        "the log level says how much is told; answers tell no more",
    ),
    ("log_access_file", "requests are in the log, at level info"),
    ("log_error_file", "errors are in the log"),
];

/// Options that are honoured.
const HONOURED: [&str; 23] = [
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
    /// What is wrong, and the cure.
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
            let why = "salt-api here speaks rest_cherrypy: write its options under that name";
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
            let text = format!("{name} is without effect: {why}");
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
        let text = "no client may be used: name those that may in netapi_enable_clients";
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
                        mistake(LOGIN_FAILURES_OPTION, "it is a number; 0 for no bound")
                    })?,
            },
            clients: enabled(config)?,
            allows_raw_shell: config.netapi_allow_raw_shell,
            external_auth: external_auth.cloned().unwrap_or_default(),
            runner_timeout: config.rest_timeout.duration(),
        })
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
            let why = "there is no salt-ssh here: remove ssh";
            return Err(mistake("netapi_enable_clients", why));
        }
        if !CLIENTS.contains(&client.as_str()) {
            let why = format!("{client} is no client; there are {}", CLIENTS.join(", "));
            return Err(mistake("netapi_enable_clients", why));
        }
    }
    Ok(clients.iter().cloned().collect())
}

struct Section<'a>(&'a Map);

impl Section<'_> {
    fn check_names(&self) -> Result<(), Mistake> {
        for name in self.0.keys() {
            let name = python::str(name);
            let is_known = HONOURED.contains(&name.as_str())
                || name == LOGIN_FAILURES_OPTION
                || WITHOUT_EFFECT.iter().any(|(known, _)| *known == name);
            if !is_known {
                let why = format!("{name} is no option of rest_cherrypy: remove it");
                return Err(mistake("", why));
            }
        }
        Ok(())
    }

    fn tls(&self) -> Result<Option<TlsFiles>, Mistake> {
        if self.flag("disable_ssl", false)? {
            return Ok(None);
        }
        match (self.file("ssl_crt")?, self.file("ssl_key")?) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate,
                key,
                chain: self.file("ssl_chain")?,
            })),
            _ => Err(mistake(
                "",
                "ssl_crt and ssl_key are needed; behind a proxy on this machine write \
                 `disable_ssl: True`",
            )),
        }
    }

    /// Without TLS the API is for this machine, unless an address is named.
    fn listen(&self, has_tls: bool) -> Result<SocketAddr, Mistake> {
        let port = self.0.get("port");
        let number = port
            .and_then(whole)
            .and_then(|port| u16::try_from(port).ok());
        let Some(port) = number.filter(|port| *port > 0) else {
            return Err(mistake("port", "it is needed, a port (1 to 65535)"));
        };
        let host = match self.0.get("host") {
            None | Some(Value::Nil) if has_tls => Ipv4Addr::UNSPECIFIED.into(),
            None | Some(Value::Nil) => Ipv4Addr::LOCALHOST.into(),
            Some(Value::Str(host)) if host == "localhost" => Ipv4Addr::LOCALHOST.into(),
            Some(host) => host
                .as_str()
                .and_then(|host| host.parse().ok())
                .ok_or_else(|| {
                    mistake("host", "it is an address of this machine, 0.0.0.0 or ::")
                })?,
        };
        Ok(SocketAddr::new(host, port))
    }

    fn backlog(&self) -> Result<u32, Mistake> {
        // Salt documents one name and reads the other.
        let name = match self.0.contains_key("queue_size") {
            true => "queue_size",
            false => "socket_queue_size",
        };
        let backlog = self.count(name, 128, 65_535)?;
        Ok(u32::try_from(backlog).unwrap_or(u32::MAX))
    }

    fn flag(&self, name: &'static str, default: bool) -> Result<bool, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(mistake(name, "it is True or False")),
        }
    }

    fn count(&self, name: &'static str, default: u64, max: u64) -> Result<usize, Mistake> {
        let count = match self.0.get(name) {
            None | Some(Value::Nil) => Some(default),
            Some(value) => whole(value).and_then(|count| u64::try_from(count).ok()),
        };
        count
            .filter(|count| (1..=max).contains(count))
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| mistake(name, format!("it is a number from 1 to {max}")))
    }

    fn path(&self, name: &'static str, default: &str) -> Result<String, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(default.to_owned()),
            Some(Value::Str(path)) => Ok(path.trim_matches('/').to_owned()),
            Some(_) => Err(mistake(name, "it is a path of an address, such as /hook")),
        }
    }

    /// A path of one part that no other page has.
    fn page(&self, name: &'static str, default: &str) -> Result<String, Mistake> {
        let page = self.path(name, default)?;
        if page.is_empty() || page.contains(['/', '%', '?', '#']) {
            let why = format!("it is a path of one part, such as /{default}");
            return Err(mistake(name, why));
        }
        if PAGES.contains(&page.as_str()) {
            let why = format!("/{page} is a page already: write another path");
            return Err(mistake(name, why));
        }
        for (other, default) in OWN_PAGES {
            if other != name && self.path(other, default)? == page {
                let why = format!("it is the path of {other}, too: write another one");
                return Err(mistake(name, why));
            }
        }
        Ok(page)
    }

    /// `cors_origins`, as browsers write origins.
    fn origins(&self) -> Result<Vec<String>, Mistake> {
        let origins = self.texts("cors_origins")?;
        let is_origin = |origin: &String| {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ']))
                && !origin.chars().any(char::is_uppercase)
        };
        match origins.iter().find(|origin| !is_origin(origin)) {
            None => Ok(origins),
            Some(origin) => Err(mistake(
                "cors_origins",
                format!(
                    "{origin} is no origin: write each as browsers do, in lower case and without \
                     a path, such as https://portal.example"
                ),
            )),
        }
    }

    fn file(&self, name: &'static str) -> Result<Option<PathBuf>, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Str(path)) if path.starts_with('/') => Ok(Some(path.into())),
            Some(_) => Err(mistake(name, "it is an absolute path")),
        }
    }

    fn texts(&self, name: &'static str) -> Result<Vec<String>, Mistake> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(Vec::new()),
            Some(Value::Str(one)) => Ok(vec![one.clone()]),
            Some(Value::List(items)) => Ok(items.iter().map(python::str).collect()),
            Some(_) => Err(mistake(name, "it is a list")),
        }
    }

    fn acl(&self) -> Result<Option<Map>, Mistake> {
        match self.0.get("api_acl") {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Map(acl)) => Ok(Some(acl.clone())),
            Some(_) => Err(mistake("api_acl", "it is a map with `users`")),
        }
    }
}

fn whole(value: &Value) -> Option<i128> {
    value
        .as_int()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_never_match_is_a_mistake() {
        let page = |name: &'static str, path: &str| {
            let default = OWN_PAGES.iter().find(|(own, _)| *own == name).unwrap().1;
            Section(&Map::from([(name, path)])).page(name, default)
        };
        assert_eq!(page("webhook_url", "/in/").as_deref(), Ok("in"));
        for (name, path) in [
            ("webhook_url", "/a/b"),
            ("webhook_url", "/"),
            ("static_path", "/keys"),
            ("app_path", "static"),
        ] {
            assert!(page(name, path).is_err(), "{name}: {path}");
        }
        let origins = |origin: &str| Section(&Map::from([("cors_origins", origin)])).origins();
        assert!(origins("https://portal.example:8443").is_ok());
        for origin in ["*", "https://portal.example/", "portal.example", "https://"] {
            assert!(origins(origin).is_err(), "{origin}");
        }
    }
}
