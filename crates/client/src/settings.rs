//! The part of the master's configuration that a client needs.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use halite_crypto::HashType;
use halite_proto::{Map, Value};
use halite_range::RangeServer;
use halite_store::{Places, Store};
use halite_transport::Endpoint;
use halite_transport::fleet::Transport;
use thiserror::Error;

/// The options that a client reads, with Salt's names and defaults.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// `user`: whom the master runs as.
    pub user: String,
    /// `cachedir`.
    pub cachedir: PathBuf,
    /// Where the master keeps things.
    pub places: Places,
    /// `sock_dir`.
    pub sock_dir: PathBuf,
    /// `pki_dir`.
    pub pki_dir: PathBuf,
    /// The directory of minions' keys: `cluster_pki_dir` of a master in a cluster,
    /// else `pki_dir`.
    pub keys_dir: PathBuf,
    /// `syndic_dir`.
    pub syndic_dir: PathBuf,
    /// `transport`: how the master takes requests.
    pub transport: Transport,
    /// Where the master takes requests: `interface` and `ret_port`.
    pub master: Endpoint,
    /// `publish_port`.
    pub publish_port: u16,
    /// Where the master's events come from.
    pub event_pub: Endpoint,
    /// Where events go to the master.
    pub event_pull: Endpoint,
    /// `ipc_mode: tcp`: there are no socket files.
    pub ipc_is_tcp: bool,
    /// `timeout`.
    pub timeout: Duration,
    /// `gather_job_timeout`.
    pub gather_job_timeout: Duration,
    /// `publish_timeout`.
    pub publish_timeout: Duration,
    /// `syndic_wait`, where `order_masters` is on.
    pub syndic_wait: Option<Duration>,
    /// `minion_data_cache`.
    pub minion_data_cache: bool,
    /// `target_uncached_minions`.
    pub targets_uncached: bool,
    /// `ext_job_cache`.
    pub ext_job_cache: String,
    /// `hash_type`, of which the names of job directories are made.
    pub hash_type: HashType,
    /// `nodegroups`.
    pub nodegroups: Map,
    /// `range_server`.
    pub range_server: RangeServer,
    /// The file that the configuration came from.
    pub conf_file: String,
}

const CACHEDIR: &str = "/var/cache/salt/master";
const SYNDIC_DIR: &str = "/var/cache/salt/master/syndics";

/// An option that no client can work with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the option {name} has an invalid value: {value}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
}

impl ClientSettings {
    /// The master's store, opened as the master opens it.
    pub fn store(&self) -> Store {
        halite_store::open(&self.places.store)
    }

    /// Reads the merged options of the master's configuration, paths already
    /// joined with `root_dir`.
    ///
    /// # Errors
    /// When an option is of the wrong kind.
    pub fn from_opts(opts: &Map) -> Result<Self, SettingsError> {
        let options = Options(opts);
        let sock_dir = options.path("sock_dir", "/var/run/salt/master");
        let ipc_is_tcp = options.text("ipc_mode", "ipc") == "tcp";
        let bus = |file: &str, option: &'static str, port: u16| {
            Ok(if ipc_is_tcp {
                Endpoint::tcp("127.0.0.1", options.port(option, port)?)
            } else {
                Endpoint::ipc(sock_dir.join(file))
            })
        };
        let interface = match options.text("interface", "0.0.0.0") {
            "0.0.0.0" | "*" => "127.0.0.1",
            "::" => "::1",
            other => other,
        };
        let syndic_wait = options.seconds("syndic_wait", 5.0)?;
        let cachedir = options.path("cachedir", CACHEDIR);
        // Salt makes this path of the cache directory's before the files are
        // read, so its default is of no use.
        let syndic_dir = match options.text("syndic_dir", SYNDIC_DIR) {
            SYNDIC_DIR => cachedir.join("syndics"),
            other => PathBuf::from(other),
        };
        let hash_type =
            HashType::parse(options.text("hash_type", "sha256")).map_err(|_| SettingsError {
                name: "hash_type",
                value: options.text("hash_type", "").to_owned(),
            })?;
        let pki_dir = options.path("pki_dir", "/etc/salt/pki/master");
        let places = Places::from_opts(opts, &cachedir, hash_type);
        let places = places.map_err(|error| SettingsError {
            name: error.option,
            value: error.to_string(),
        })?;
        Ok(Self {
            user: options.text("user", "root").to_owned(),
            keys_dir: match options.text("cluster_id", "") {
                "" => pki_dir.clone(),
                _ => Path::new(options.text("cluster_pki_dir", &pki_dir.to_string_lossy())).into(),
            },
            pki_dir,
            cachedir,
            syndic_dir,
            transport: options.transport()?,
            master: Endpoint::tcp(interface, options.port("ret_port", 4506)?),
            publish_port: options.port("publish_port", 4505)?,
            event_pub: bus("master_event_pub.ipc", "tcp_master_pub_port", 4512)?,
            event_pull: bus("master_event_pull.ipc", "tcp_master_pull_port", 4513)?,
            ipc_is_tcp,
            timeout: options.seconds("timeout", 5.0)?,
            gather_job_timeout: options.seconds("gather_job_timeout", 10.0)?,
            publish_timeout: options.seconds("publish_timeout", 30.0)?,
            syndic_wait: options.flag("order_masters", false).then_some(syndic_wait),
            minion_data_cache: options.flag("minion_data_cache", true),
            targets_uncached: options.flag("target_uncached_minions", false),
            hash_type,
            places,
            ext_job_cache: options.text("ext_job_cache", "").to_owned(),
            nodegroups: opts
                .get("nodegroups")
                .and_then(Value::as_map)
                .cloned()
                .unwrap_or_default(),
            range_server: RangeServer::from_opts(opts),
            conf_file: options
                .text("conf_file", "the master's configuration")
                .to_owned(),
            sock_dir,
        })
    }

    /// The file whose existence tells that a master runs here.
    pub fn running_mark(&self) -> PathBuf {
        self.sock_dir.join("publish_pull.ipc")
    }

    /// Whether the master that runs here is one of Halite: it has a file where
    /// Salt's has a socket. Salt 3008 has such a file too, and listens beside it.
    pub fn master_is_ours(&self) -> bool {
        self.sock_dir.join("workers.ipc").is_file()
            && !is_listened_at(&self.sock_dir.join("workers-default.ipc"))
    }
}

/// Whether a process listens at a socket file; one may be left of a master that
/// is gone.
fn is_listened_at(path: &Path) -> bool {
    match UnixStream::connect(path) {
        Ok(_) => true,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::ConnectionRefused
        ),
    }
}

struct Options<'a>(&'a Map);

impl Options<'_> {
    fn text<'b>(&'b self, name: &str, default: &'b str) -> &'b str {
        let value = self.0.get(name).and_then(Value::as_str);
        value.filter(|text| !text.is_empty()).unwrap_or(default)
    }

    fn path(&self, name: &str, default: &str) -> PathBuf {
        Path::new(self.text(name, default)).to_owned()
    }

    fn transport(&self) -> Result<Transport, SettingsError> {
        let name = self.text("transport", Transport::default().name());
        Transport::parse(name).ok_or_else(|| SettingsError {
            name: "transport",
            value: name.to_owned(),
        })
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.0.get(name).map_or(default, Value::is_true)
    }

    fn port(&self, name: &'static str, default: u16) -> Result<u16, SettingsError> {
        match self.0.get(name) {
            None | Some(Value::Nil) => Ok(default),
            Some(value) => whole(value)
                .and_then(|port| u16::try_from(port).ok())
                .ok_or_else(|| refused(name, value)),
        }
    }

    fn seconds(&self, name: &'static str, default: f64) -> Result<Duration, SettingsError> {
        let value = match self.0.get(name) {
            None | Some(Value::Nil) => return Ok(Duration::from_secs_f64(default)),
            Some(value) => value,
        };
        number(value)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
            .ok_or_else(|| refused(name, value))
    }
}

fn whole(value: &Value) -> Option<i128> {
    value
        .as_int()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn refused(name: &'static str, value: &Value) -> SettingsError {
    SettingsError {
        name,
        value: halite_proto::python::repr(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_salts_defaults() {
        let settings = ClientSettings::from_opts(&Map::new()).unwrap();
        assert_eq!(settings.master.to_string(), "tcp://127.0.0.1:4506");
        assert_eq!(
            settings.event_pub.to_string(),
            "ipc:///var/run/salt/master/master_event_pub.ipc"
        );
        assert_eq!(settings.timeout, Duration::from_secs(5));
        assert_eq!(settings.syndic_wait, None);
    }

    #[test]
    fn a_master_on_all_addresses_is_asked_on_this_machine() {
        for (interface, uri) in [
            ("0.0.0.0", "tcp://127.0.0.1:4506"),
            ("::", "tcp://[::1]:4506"),
            ("10.1.2.3", "tcp://10.1.2.3:4506"),
            ("fd00::1", "tcp://[fd00::1]:4506"),
        ] {
            let opts = Map::from([("interface", interface)]);
            let settings = ClientSettings::from_opts(&opts).unwrap();
            assert_eq!(settings.master.to_string(), uri);
        }
    }

    #[test]
    fn without_socket_files_ports_are_used() {
        let opts = Map::from([
            ("ipc_mode", Value::from("tcp")),
            ("tcp_master_pub_port", 5512.into()),
        ]);
        let settings = ClientSettings::from_opts(&opts).unwrap();
        assert_eq!(settings.event_pub.to_string(), "tcp://127.0.0.1:5512");
        assert_eq!(settings.event_pull.to_string(), "tcp://127.0.0.1:4513");
    }

    #[test]
    fn a_port_must_be_one() {
        let opts = Map::from([("ret_port", "x")]);
        let error = ClientSettings::from_opts(&opts).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the option ret_port has an invalid value: 'x'"
        );
    }
}
