//! Options of a cluster.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use halite_config::{ClusterBus, MasterConfig};
use halite_crypto::Secret;
use halite_key::master_id;
use halite_mesh::{BusCredentials, BusOptions, BusServer, PeerAddress, PeerId};

use crate::error::StartError;
use crate::settings::NO_ID;

/// What is read of the configuration of a master in a cluster.
pub(crate) struct ClusterSettings {
    /// `cluster_id`.
    pub(crate) id: String,
    /// `cluster_pki_dir`.
    pub(crate) pki_dir: PathBuf,
    /// `cluster_peers`.
    pub(crate) peers: Vec<PeerAddress>,
    /// `interface` and `cluster_pool_port`.
    pub(crate) listen: SocketAddr,
    /// `cluster_bus` and what belongs to it; of the master with this id.
    pub(crate) bus: Option<BusOptions>,
    /// `cluster_pub_fingerprint`.
    pub(crate) fingerprint: Option<String>,
    /// `cluster_isolated_filesystem`: the masters share no files.
    pub(crate) isolated: bool,
    /// `cluster_secret`.
    pub(crate) secret: Option<Secret<String>>,
    /// `cluster_key_pass`.
    pub(crate) key_pass: Option<Secret<String>>,
    /// `cluster_return_copies`: a return is to be at two masters.
    pub(crate) copies_returns: bool,
    /// `cluster_drain_time`.
    pub(crate) drain_time: Duration,
    /// `publish_session`.
    pub(crate) session_s: u64,
    /// `job_replay_window`.
    pub(crate) replay_window_s: u64,
}

impl ClusterSettings {
    /// Where other masters reach this one, whose name is `id`.
    pub(crate) fn address(&self, id: &str) -> String {
        match self.listen.ip().is_unspecified() {
            true => format!("{id}:{}", self.listen.port()),
            false => self.listen.to_string(),
        }
    }

    /// Reads the options; `None` for a master without a cluster.
    ///
    /// # Errors
    /// When an entry of `cluster_peers` or `interface` is no address.
    pub(crate) fn from_config(config: &MasterConfig) -> Result<Option<Self>, StartError> {
        let Some(id) = config.cluster_id.clone().filter(|id| !id.is_empty()) else {
            return Ok(None);
        };
        let port = config.cluster_pool_port.0;
        let peers = config.cluster_peers.0.iter();
        let peers = peers.map(|text| PeerAddress::parse(text, port));
        let peers = peers
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| StartError::Option {
                option: "cluster_peers",
                why: error.to_string(),
            })?;
        let interface = config.interface.trim_matches(['[', ']']);
        let address: IpAddr = interface.parse().map_err(|_| StartError::Interface {
            why: format!("{interface:?} is not an IP address"),
        })?;
        Ok(Some(Self {
            id,
            pki_dir: config.keys_dir().to_owned(),
            peers,
            listen: SocketAddr::new(address, port),
            bus: bus(config)?,
            fingerprint: config
                .cluster_pub_fingerprint
                .clone()
                .filter(|text| !text.trim().is_empty()),
            isolated: config.cluster_isolated_filesystem,
            secret: config.cluster_secret.clone().map(Secret::new),
            key_pass: config.cluster_key_pass.clone().map(Secret::new),
            copies_returns: config.cluster_return_copies > 1,
            drain_time: Duration::from_secs(config.cluster_drain_time),
            session_s: config.publish_session,
            replay_window_s: config.job_replay_window,
        }))
    }
}

/// The address of the bus, if one is configured. Error texts do not quote it, because it
/// may contain a password.
fn bus(config: &MasterConfig) -> Result<Option<BusOptions>, StartError> {
    let wrong = |option, why: String| StartError::Option { option, why };
    let Some(text) = config
        .cluster_bus
        .as_deref()
        .filter(|text| !text.is_empty())
    else {
        return Ok(None);
    };
    let bus = ClusterBus::parse(text).map_err(|why| StartError::Bus {
        why: why.to_string(),
    })?;
    let id = config.id.as_deref().unwrap_or(NO_ID);
    let own = PeerId::parse(master_id(id)).map_err(|why| wrong("id", why.to_string()))?;
    let certificate = match (&config.cluster_bus_cert, &config.cluster_bus_key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (Some(_), None) => {
            let why = "it requires `cluster_bus_key`".to_owned();
            return Err(wrong("cluster_bus_cert", why));
        }
        (None, Some(_)) => {
            let why = "it requires `cluster_bus_cert`".to_owned();
            return Err(wrong("cluster_bus_key", why));
        }
    };
    let credentials = match (&config.cluster_bus_credentials, bus.login) {
        (None, None) => BusCredentials::None,
        (None, Some((user, password))) => BusCredentials::Password(user, Secret::new(password)),
        (Some(path), None) => BusCredentials::File(path.clone()),
        (Some(_), Some(_)) => {
            let why = "`cluster_bus` has a user and a password already".to_owned();
            return Err(wrong("cluster_bus_credentials", why));
        }
    };
    let files = [
        ("cluster_bus_ca", &config.cluster_bus_ca),
        ("cluster_bus_cert", &config.cluster_bus_cert),
        ("cluster_bus_key", &config.cluster_bus_key),
        ("cluster_bus_credentials", &config.cluster_bus_credentials),
    ];
    for (option, path) in files {
        if let Some(path) = path
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(wrong(option, format!("{}: {error}", path.display())));
        }
    }
    let server = |(host, port)| BusServer { host, port };
    Ok(Some(BusOptions {
        own,
        servers: bus.servers.into_iter().map(server).collect(),
        tls: bus.tls || config.cluster_bus_ca.is_some() || certificate.is_some(),
        ca: config.cluster_bus_ca.clone(),
        certificate,
        credentials,
    }))
}
