//! From settings to a running minion: keys, grains, links, local bus.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use halite_call::{Recall, Registry};
use halite_crypto::{EncAlgo, HashType, KeyError, SigAlgo, hash_hex, random_bytes};
use halite_grains::Want;
use halite_key::KeyStoreError;
use halite_key::minion::{MinionKeys, TrustedMaster, signing_key};
use halite_proto::{Map, MasterUri, MinionId, Nonce, Value};
use halite_transport::fleet::{KeepAlive, RequesterOptions, SubscribeOptions, Transport};
use halite_transport::ipc::{BusOptions, EventBus, Framing, framing_of};
use halite_transport::{BindError, Endpoint};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::core::conductor::{Conductor, Mode};
use crate::core::jobs::Jobs;
use crate::core::link::LinkTiming;
use crate::core::ports::BusPorts;
use crate::core::rotation::Rotation;
use crate::core::sign_in::{Identity, Trust};
use crate::fleet::Fleet;
use crate::limits::JIDS_REMEMBERED_MIN;
use crate::link::TrustStore;
use crate::link::channel::Patience;
use crate::link::words::LinkSettings;
use crate::minion::OwnFiles;
use crate::minion::pace::Pace;
use crate::minion::{CollectGrains, Greeted, Minion};
use crate::records::claims::Claims;
use crate::records::gates::KeptGates;
use crate::records::proc_files::ProcDir;

/// Everything a minion needs to know to start; Salt's options where the names
/// are the same.
pub struct Setup {
    /// The minion's id.
    pub id: MinionId,
    /// The merged options, for functions.
    pub opts: Map,
    /// The masters as configured, and where they are.
    pub masters: Vec<(String, MasterUri)>,
    /// `cachedir`.
    pub cachedir: PathBuf,
    /// `pki_dir`.
    pub pki_dir: PathBuf,
    /// Where the local event bus listens; nowhere for `salt-call`.
    pub bus: BusPlace,
    /// How events are framed on it; none: as each program wants it.
    pub bus_framing: Option<Framing>,
    /// Where the bus of the minion that runs here is, for a program beside it.
    pub daemon_bus: Option<(Endpoint, Endpoint)>,
    /// `keysize`, in bits.
    pub keysize: u32,
    /// The user that owns the minion's files, if not the one that runs it.
    pub owner: Option<u32>,
    /// The keys that are trusted beside the known master key.
    pub trust: TrustSettings,
    /// How several masters are used.
    pub mode: Mode,
    /// How links behave over time.
    pub timing: LinkTiming,
    /// `auth_timeout`.
    pub auth_timeout: Duration,
    /// `request_channel_timeout` and `request_channel_tries`.
    pub patience: Patience,
    /// `minion_sign_messages`.
    pub signs_messages: bool,
    /// `random_startup_delay`.
    pub startup_delay: Duration,
    /// Addresses and ports of this machine that subscriptions and requests
    /// come from.
    pub source: Source,
    /// `sign_pub_messages`.
    pub signature_required: bool,
    /// A publish port that overrides what masters announce.
    pub publish_port: Option<u16>,
    /// `ipv6`.
    pub ipv6: Option<bool>,
    /// `zmq_filtering`.
    pub filtering: bool,
    /// `transport`.
    pub transport: Transport,
    /// TCP keep-alive.
    pub keep_alive: KeepAlive,
    /// `recon_default` and `recon_max`.
    pub reconnect: (Duration, Duration),
    /// `autosign_grains`: names of grains that go along with a sign-in.
    pub autosign_grains: Vec<String>,
    /// `minion_jid_queue_hwm`.
    pub jids_remembered: usize,
    /// Collects the grains; called again when they are refreshed.
    pub collect_grains: CollectGrains,
    /// The functions that it has.
    pub functions: &'static Registry,
    /// When jobs begin; none: at once.
    pub pace: Option<Arc<dyn Pace>>,
}

/// Where connections come from (`source_address` ...).
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// The address; none: the system's choice.
    pub address: Option<IpAddr>,
    /// The port of subscriptions; 0 for any.
    pub publish_port: u16,
    /// The port of requests; 0 for any.
    pub request_port: u16,
}

impl Source {
    /// The address that sockets to `to` are bound to; `None` if no option names one.
    fn socket_address(self, port: u16, ipv6: bool) -> Option<SocketAddr> {
        let any: IpAddr = match ipv6 {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        let address = self.address.or_else(|| (port != 0).then_some(any))?;
        Some(SocketAddr::new(address, port))
    }
}

/// What decides which master is believed.
pub struct TrustSettings {
    /// The name of the key that master keys are signed with, where
    /// `verify_master_pubkey_sign` is on.
    pub signing_key: Option<String>,
    /// `always_verify_signature`.
    pub always_verify_signature: bool,
    /// `master_finger`.
    pub finger: Option<String>,
    /// `hash_type`.
    pub hash_type: HashType,
    /// `open_mode`.
    pub open_mode: bool,
    /// `encryption_algorithm`.
    pub enc_algo: EncAlgo,
    /// `signing_algorithm`.
    pub sig_algo: SigAlgo,
}

/// Where the local event bus is.
pub enum BusPlace {
    /// Within the process only.
    Process,
    /// Unix sockets in `sock_dir`.
    SockDir(PathBuf),
    /// Loopback TCP: a pair of ports for each master, all of one bus.
    Ports(Vec<BusPorts>),
}

/// Why a minion does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The minion's keys or the known master key cannot be used.
    #[error("could not prepare the keys in {}", pki_dir.display())]
    Keys {
        /// `pki_dir`.
        pki_dir: PathBuf,
        /// Why.
        #[source]
        source: KeyStoreError,
    },
    /// The minion's key cannot sign.
    #[error("could not use the minion's key")]
    Identity(#[source] KeyError),
    /// `verify_master_pubkey_sign` is on and the key is not there.
    #[error(
        "verify_master_pubkey_sign is set, but {} is missing; copy it from a master",
        path.display()
    )]
    NoSigningKey {
        /// Where it should be.
        path: PathBuf,
    },
    /// An option is wrong.
    #[error("bad option: {0}")]
    Option(String),
    /// The local event bus cannot be bound.
    #[error("could not open the local event bus")]
    Bus(#[source] BindError),
}

/// A minion that is ready to bring its links up.
pub struct Started {
    /// The minion.
    pub minion: Arc<Minion>,
    /// Its links.
    pub fleet: Fleet,
    /// Which of them are up.
    pub conductor: Conductor,
}

/// Makes everything ready; the links are still down.
///
/// # Errors
/// When keys, directories or sockets of this machine cannot be used.
pub async fn start(setup: Setup) -> Result<Started, StartError> {
    let bus = open_bus(&setup).map_err(StartError::Bus)?;
    let proc = ProcDir::open(&setup.cachedir);
    let (identity, trust) = keys(&setup)?;
    let (identity, trust) = (Arc::new(identity), Arc::new(trust));
    let grains = (setup.collect_grains)(Want::Kept);
    let links = setup
        .masters
        .iter()
        .map(|(name, uri)| (name.clone(), link_settings(&setup, uri, &grains)))
        .collect();
    let gates = Arc::new(KeptGates::open(&setup.cachedir));
    let (fleet, masters) = Fleet::new(links, &identity, &trust, &gates);
    let seed = u64::from_le_bytes(random_bytes());
    let conductor = Conductor::new(masters.len(), setup.mode, seed);
    let own_files = OwnFiles::of(&setup.opts).map_err(StartError::Option)?;
    let minion = Minion {
        id: setup.id,
        process: Nonce::from_random(random_bytes()),
        own_files,
        opts: setup.opts,
        claims: Claims::new(&setup.cachedir),
        cachedir: setup.cachedir,
        grains: RwLock::new(Arc::new(grains)),
        collect_grains: setup.collect_grains,
        masters,
        rotation: Mutex::new(Rotation::new()),
        jobs: Mutex::new(Jobs::new(setup.jids_remembered.max(JIDS_REMEMBERED_MIN))),
        outstanding: AtomicUsize::new(0),
        job_ended: Notify::new(),
        proc,
        greeted: Greeted::default(),
        patience: setup.patience,
        startup_delay: setup.startup_delay,
        bus,
        scheduler: OnceLock::new(),
        beacons: OnceLock::new(),
        meters: OnceLock::new(),
        recall: Recall::default(),
        daemon_bus: setup.daemon_bus,
        runtime: Handle::current(),
        functions: setup.functions,
        pace: setup.pace,
    };
    Ok(Started {
        minion: Arc::new(minion),
        fleet,
        conductor,
    })
}

/// Where the sockets of a minion's bus are: names with a hash of the id, as
/// Salt has them.
pub fn bus_endpoints(sock_dir: &Path, id: &MinionId, hash_type: HashType) -> (Endpoint, Endpoint) {
    const DIGITS: usize = 10;
    let hash = hash_hex(hash_type, id.as_str().as_bytes());
    let hash = hash.get(..DIGITS).unwrap_or(&hash);
    let path = |end| Endpoint::ipc(sock_dir.join(format!("minion_event_{hash}_{end}.ipc")));
    (path("pub"), path("pull"))
}

impl BusPorts {
    /// Where the bus is: to subscribe at, and to send events to.
    pub fn endpoints(&self, ipv6: Option<bool>) -> (Endpoint, Endpoint) {
        let host = match ipv6 {
            Some(true) => "::1",
            _ => "127.0.0.1",
        };
        (
            Endpoint::tcp(host, self.publish),
            Endpoint::tcp(host, self.pull),
        )
    }
}

fn open_bus(setup: &Setup) -> Result<EventBus, BindError> {
    let mut options = BusOptions::minion(setup.bus_framing.unwrap_or(Framing::Bare));
    // Programs of Salt 3006 read the bus in another framing than later ones.
    options.framing_of = match setup.bus_framing {
        Some(_) => None,
        None => Some(framing_of),
    };
    let places = match &setup.bus {
        BusPlace::Process => return Ok(EventBus::in_process(options)),
        BusPlace::SockDir(dir) => vec![bus_endpoints(dir, &setup.id, setup.trust.hash_type)],
        BusPlace::Ports(all) => {
            let places = all.iter().map(|ports| ports.endpoints(setup.ipv6));
            places.collect()
        }
    };
    EventBus::bind_all(&places, options)
}

fn keys(setup: &Setup) -> Result<(Identity, TrustStore), StartError> {
    let failed = |source| StartError::Keys {
        pki_dir: setup.pki_dir.clone(),
        source,
    };
    let pair = MinionKeys::load_or_generate(&setup.pki_dir, setup.keysize, setup.owner);
    let pair = pair.map_err(failed)?;
    let identity = Identity::new(setup.id.clone(), pair.private().clone());
    let mut identity = identity.map_err(StartError::Identity)?;
    identity.signing = setup.signs_messages.then_some(setup.trust.sig_algo);
    let signing_key = match &setup.trust.signing_key {
        None => None,
        Some(name) => match signing_key(&setup.pki_dir, name).map_err(failed)? {
            Some(key) => Some(key),
            None => {
                let path = setup.pki_dir.join(format!("{name}.pub"));
                return Err(StartError::NoSigningKey { path });
            }
        },
    };
    let trust = Trust {
        known: None,
        signing_key,
        always_verify_signature: setup.trust.always_verify_signature,
        finger: setup.trust.finger.clone(),
        hash_type: setup.trust.hash_type,
        open_mode: setup.trust.open_mode,
        enc_algo: setup.trust.enc_algo,
        sig_algo: setup.trust.sig_algo,
    };
    let file = TrustedMaster::of_minion(&setup.pki_dir, setup.owner);
    Ok((identity, TrustStore::open(file, trust).map_err(failed)?))
}

fn link_settings(setup: &Setup, uri: &MasterUri, grains: &Map) -> LinkSettings {
    let ipv6 = setup.ipv6 == Some(true);
    let autosign: Map = setup
        .autosign_grains
        .iter()
        .map(|name| {
            (
                name.as_str(),
                grains.get(name).cloned().unwrap_or(Value::Nil),
            )
        })
        .collect();
    LinkSettings {
        uri: uri.clone(),
        timing: setup.timing.clone(),
        auth_timeout: setup.auth_timeout,
        signature_required: setup.signature_required,
        publish_port: setup.publish_port,
        subscribe: SubscribeOptions {
            transport: setup.transport,
            minion: Some(setup.id.clone()),
            filtering: setup.filtering,
            reconnect: setup.reconnect.0,
            reconnect_max: setup.reconnect.1,
            keep_alive: setup.keep_alive,
            source: setup.source.socket_address(setup.source.publish_port, ipv6),
            ..SubscribeOptions::default()
        },
        request: RequesterOptions {
            transport: setup.transport,
            keep_alive: setup.keep_alive,
            source: setup.source.socket_address(setup.source.request_port, ipv6),
            // Two connections cannot leave through one port.
            connections_max: match setup.source.request_port {
                0 => RequesterOptions::default().connections_max,
                _ => 1,
            },
            ..RequesterOptions::default()
        },
        ipv6: setup.ipv6,
        autosign_grains: (!autosign.is_empty()).then_some(autosign),
    }
}
