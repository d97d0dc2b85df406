//! Where a server is and how to sign in there: a URL, or options of Salt's.

mod in_the_clear;
mod password;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use halite_crypto::Secret;
use halite_crypto::files::FileError;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;

use crate::limits::{
    CONNECTIONS_ALLOWED_MAX, CONNECTIONS_MAX, MEMBERS_MAX, OPERATION_TIME, SENTINELS_MAX,
};

/// Where a Sentinel listens unless something else is said.
const SENTINEL_PORT: u16 = 26379;

/// Kinds of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// Redis or Valkey.
    Redis,
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    Mysql,
    /// etcd, version 3 of its protocol.
    Etcd,
}

impl ServerKind {
    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
            Self::Etcd => "etcd",
        }
    }

    /// The port where it listens unless something else is said.
    pub fn port(self) -> u16 {
        match self {
            Self::Redis => 6379,
            Self::Postgres => 5432,
            Self::Mysql => 3306,
            Self::Etcd => 2379,
        }
    }

    fn from_scheme(scheme: &str) -> Option<(Self, bool)> {
        Some(match scheme {
            "redis" | "valkey" => (Self::Redis, false),
            "rediss" | "valkeys" => (Self::Redis, true),
            "postgres" | "postgresql" => (Self::Postgres, false),
            "mysql" | "mariadb" => (Self::Mysql, false),
            "etcd" => (Self::Etcd, false),
            "etcds" => (Self::Etcd, true),
            _ => return None,
        })
    }
}

/// How a connection is protected. The server's certificate is checked against
/// its name unless that is switched off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A file with the certificates to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// A file with our own certificate.
    pub certificate: Option<PathBuf>,
    /// A file with its key.
    pub key: Option<PathBuf>,
    /// Any certificate will do: whoever is between can read everything.
    pub is_unverified: bool,
}

/// Which slots of a Redis cluster must have a server for it to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of them.
    Full,
    /// Those that are asked for.
    Partial,
}

/// The address of a server. It is shown without its password.
#[derive(Clone)]
pub struct Address {
    /// What it is.
    pub kind: ServerKind,
    /// Its name or IP address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its socket on this machine, instead of host and port.
    pub socket: Option<PathBuf>,
    /// Whom to sign in as.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret<String>>,
    /// The database there (of etcd the beginning of all keys).
    pub database: Option<String>,
    /// TLS, or none.
    pub tls: Option<Tls>,
    /// Of a Redis: what the Sentinels call the server that is meant. Host and port
    /// are then those of a Sentinel.
    pub sentinel: Option<String>,
    /// Further Sentinels, with their ports.
    pub sentinels: Vec<(String, u16)>,
    /// Whom to sign in as at the Sentinels.
    pub sentinel_user: Option<String>,
    /// Their password.
    pub sentinel_password: Option<Secret<String>>,
    /// Of a Redis: it is a cluster, of which the host and the members are servers.
    pub cluster: Option<Coverage>,
    /// Further members of an etcd or a Redis cluster, with their ports.
    pub members: Vec<(String, u16)>,
    /// How long an operation may take; it waits half as long for one of the
    /// connections that are in use.
    pub limit: Duration,
    /// How long connecting may take.
    pub connect_limit: Duration,
    /// Connections at most.
    pub connections: usize,
}

/// Why a text is not the address of a server. No text of it has a password.
#[derive(Debug, Error)]
pub enum AddressError {
    /// It is not a URL.
    #[error("it is not a URL like redis://host:6379/0")]
    Url(#[source] url::ParseError),
    /// The scheme names no server.
    #[error(
        "{0}:// is not the scheme of a store; those are redis, rediss, postgres, mysql and etcd"
    )]
    Scheme(String),
    /// There is no host.
    #[error("it names no host")]
    NoHost,
    /// A part is not UTF-8.
    #[error("its {0} is not UTF-8")]
    NotText(&'static str),
    /// A parameter is not known.
    #[error("it has a parameter {0} that is not known")]
    Parameter(String),
    /// The value of a parameter is not one.
    #[error("its parameter {0} has an invalid value")]
    Value(&'static str),
    /// A cluster is asked for together with something that it has not.
    #[error("a Redis cluster has one database and neither Sentinels nor a socket")]
    Cluster,
    /// Members are named of what has none.
    #[error("only a Redis cluster has members: add cluster=yes")]
    NoCluster,
    /// A socket of this machine is asked for together with TLS.
    #[error("a socket on this machine has no TLS: leave out tls, ca, cert and key, or socket")]
    SocketWithTls,
    /// The variable with the password is not set.
    #[error("the environment variable {0} for its password is not set")]
    NoVariable(String),
    /// The file with the password cannot be read.
    #[error("its password cannot be read")]
    PasswordFile(#[source] FileError),
}

impl Address {
    /// The address of a host with all else as it is by itself.
    pub fn new(kind: ServerKind, host: impl Into<String>) -> Self {
        Self {
            kind,
            host: host.into(),
            port: kind.port(),
            socket: None,
            user: None,
            password: None,
            database: None,
            tls: None,
            sentinel: None,
            sentinels: Vec::new(),
            sentinel_user: None,
            sentinel_password: None,
            cluster: None,
            members: Vec::new(),
            limit: OPERATION_TIME,
            connect_limit: OPERATION_TIME,
            connections: CONNECTIONS_MAX,
        }
    }

    /// Reads a URL, `scheme://user:password@host:port/database`. Parameters:
    /// `password_file` and `password_env` say where the password is,
    /// `tls=yes|no|unverified`, `ca`, `cert` and `key` are files, `socket` is
    /// one of this machine, `timeout` are seconds, `connections` a number. `sentinel`
    /// is the name of a Redis that its Sentinels know, who are at the host and at
    /// `sentinels=host:port,host:port`; `sentinel_user`, `sentinel_password_file` and
    /// `sentinel_password_env` are for these. `members=host:port,host:port` are further
    /// members of an etcd, or of a Redis with `cluster=yes|partial`.
    ///
    /// # Errors
    /// When it is not the URL of a server, or its password cannot be read.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let url = Url::parse(text).map_err(AddressError::Url)?;
        let Some((kind, is_tls)) = ServerKind::from_scheme(url.scheme()) else {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        };
        let mut address = Self::new(kind, url.host_str().unwrap_or_default());
        // An IPv6 address stands in brackets.
        address.host = address.host.trim_matches(['[', ']']).to_owned();
        address.port = url.port().unwrap_or_else(|| kind.port());
        address.tls = is_tls.then(Tls::default);
        address.user = part("user", url.username())?;
        address.password = part("password", url.password().unwrap_or_default())?.map(Secret::new);
        address.database = part("database", url.path().trim_matches('/'))?;
        for (name, value) in url.query_pairs() {
            address.set(&name, &value)?;
        }
        let says_of_sentinels = !address.sentinels.is_empty()
            || address.sentinel_user.is_some()
            || address.sentinel_password.is_some();
        if address.sentinel.is_none() && says_of_sentinels {
            return Err(AddressError::Value("sentinel"));
        }
        if address.sentinel.is_some() && address.port == kind.port() && url.port().is_none() {
            address.port = SENTINEL_PORT;
        }
        address.check_cluster()?;
        match (&address.socket, &address.tls) {
            (Some(_), Some(_)) => Err(AddressError::SocketWithTls),
            (None, _) if address.host.is_empty() => Err(AddressError::NoHost),
            _ => Ok(address),
        }
    }

    /// Refuses what a cluster has not, and members of one server.
    ///
    /// # Errors
    /// When the parts contradict each other.
    pub fn check_cluster(&self) -> Result<(), AddressError> {
        let is_redis = self.kind == ServerKind::Redis;
        let database = self.database.as_deref().unwrap_or("0");
        match self.cluster {
            None if is_redis && !self.members.is_empty() => Err(AddressError::NoCluster),
            Some(_) if self.sentinel.is_some() || self.socket.is_some() || database != "0" => {
                Err(AddressError::Cluster)
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), AddressError> {
        match name {
            "password_file" => self.password = Some(password::in_file(value)?),
            "password_env" => self.password = Some(password::in_variable(value)?),
            "tls" => match value {
                "yes" => drop(self.tls.get_or_insert_default()),
                "unverified" => self.tls.get_or_insert_default().is_unverified = true,
                "no" => self.tls = None,
                _ => return Err(AddressError::Value("tls")),
            },
            "ca" => self.tls.get_or_insert_default().ca = Some(value.into()),
            "cert" => self.tls.get_or_insert_default().certificate = Some(value.into()),
            "key" => self.tls.get_or_insert_default().key = Some(value.into()),
            "socket" => self.socket = Some(value.into()),
            "sentinel" if self.kind == ServerKind::Redis && !value.is_empty() => {
                self.sentinel = Some(value.to_owned());
            }
            "sentinels" if self.kind == ServerKind::Redis => {
                let found = value
                    .split(',')
                    .map(|text| host_and_port(text, SENTINEL_PORT));
                let sentinels = found.collect::<Option<Vec<_>>>();
                let sentinels = sentinels.filter(|found| found.len() <= SENTINELS_MAX);
                self.sentinels = sentinels.ok_or(AddressError::Value("sentinels"))?;
            }
            "sentinel_user" if self.kind == ServerKind::Redis => {
                self.sentinel_user = Some(value.to_owned()).filter(|user| !user.is_empty());
            }
            "sentinel_password_file" if self.kind == ServerKind::Redis => {
                self.sentinel_password = Some(password::in_file(value)?);
            }
            "sentinel_password_env" if self.kind == ServerKind::Redis => {
                self.sentinel_password = Some(password::in_variable(value)?);
            }
            "cluster" if self.kind == ServerKind::Redis => match value {
                "yes" => self.cluster = Some(Coverage::Full),
                "partial" => self.cluster = Some(Coverage::Partial),
                "no" => self.cluster = None,
                _ => return Err(AddressError::Value("cluster")),
            },
            "members" if matches!(self.kind, ServerKind::Etcd | ServerKind::Redis) => {
                let port = self.kind.port();
                let found = value.split(',').map(|text| host_and_port(text, port));
                let members = found.collect::<Option<Vec<_>>>();
                let members = members.filter(|found| found.len() <= MEMBERS_MAX);
                self.members = members.ok_or(AddressError::Value("members"))?;
            }
            "timeout" => {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0.0);
                let limit = seconds.and_then(|s: f64| Duration::try_from_secs_f64(s).ok());
                self.limit = limit.ok_or(AddressError::Value("timeout"))?;
                self.connect_limit = self.limit;
            }
            "connections" => {
                let allowed = 1..=CONNECTIONS_ALLOWED_MAX;
                let number = value.parse().ok().filter(|it| allowed.contains(it));
                self.connections = number.ok_or(AddressError::Value("connections"))?;
            }
            other => return Err(AddressError::Parameter(other.to_owned())),
        }
        Ok(())
    }
}

/// A Sentinel or a member, `host` or `host:port`.
fn host_and_port(text: &str, port: u16) -> Option<(String, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, port),
    };
    let host = host.trim_matches(['[', ']']);
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// A part of a URL; none if it is empty.
fn part(name: &'static str, text: &str) -> Result<Option<String>, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| AddressError::NotText(name))?;
    Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        let passwords = |address: &Self| {
            [&address.password, &address.sentinel_password]
                .map(|password| password.as_ref().map(|it| it.expose().clone()))
        };
        let rest = |address: &Self| {
            let place = (address.kind, address.host.clone(), address.port);
            let who = (address.user.clone(), address.database.clone());
            let how = (address.limit, address.connect_limit, address.connections);
            let sentinels = (
                address.sentinel.clone(),
                address.sentinels.clone(),
                address.sentinel_user.clone(),
            );
            let others = (sentinels, address.members.clone(), address.cluster);
            let wire = (address.socket.clone(), address.tls.clone(), others);
            (place, wire, who, how)
        };
        rest(self) == rest(other) && passwords(self) == passwords(other)
    }
}

impl Eq for Address {}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secured = if self.tls.is_some() { "s" } else { "" };
        match &self.socket {
            Some(socket) => write!(f, "{}:{}", self.kind.scheme(), socket.display())?,
            None => {
                let (scheme, host) = (self.kind.scheme(), &self.host);
                write!(f, "{scheme}{secured}://{host}:{}", self.port)?;
            }
        }
        if let Some(database) = &self.database {
            write!(f, "/{database}")?;
        }
        match &self.sentinel {
            Some(name) => write!(f, " ({name})"),
            None if self.cluster.is_some() => f.write_str(" (cluster)"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}
