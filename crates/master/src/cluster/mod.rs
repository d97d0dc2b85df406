//! The cluster that this master belongs to: its files, the links to the other
//! masters, and the session keys that they share.
//!
//! `relay` applies the messages of peers; all parts send theirs through
//! [`Cluster`].

mod arbiter;
pub(crate) mod copies;
pub(crate) mod drain;
pub(crate) mod fired_return;
pub(crate) mod grants;
pub(crate) mod joining;
pub(crate) mod lease;
pub(crate) mod message;
pub(crate) mod secret;
pub(crate) mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::files::{MODE_SECRET, WriteOptions, ensure_private_dir, write_atomic};
use halite_crypto::{DerivationRoot, random_bytes};
use halite_key::cluster::{ClusterDir, ClusterKeyOptions};
use halite_key::{MasterKeyOptions, MasterKeys, PkiDir, master_id};
use halite_mesh::{Incarnation, Listener, Mesh, MeshOptions, PeerId, Pins};
use halite_proto::{PackError, PublisherId, Value};
use halite_store::Cache;
use tokio::runtime::Handle;

use self::arbiter::Arbiter;
use self::copies::Copies;
use self::drain::Drain;
use self::fired_return::pack_event;
use self::grants::{Grant, Grants};
use self::joining::join_if_new;
use self::lease::SharedLease;
use self::message::Message;
use self::secret::ClusterSecret;
use self::settings::ClusterSettings;
use crate::clock::now_s;
use crate::core::lead::{Lead, Met};
use crate::error::{StartError, chain};
use crate::limits::KEY_PAIR_WAIT_MAX;
use crate::settings::General;

/// The purpose of the roots of session keys.
const SESSIONS: &[u8] = b"halite: session keys of minions";

/// The file in a master's own directory that says which life of it uses that.
const LIFE: &str = "life";

/// A part of the master that exchanges messages with its peers under a name of its own
/// (`Message::Channel`). Called on threads that may wait.
pub(crate) trait Channel: Send + Sync {
    /// The name.
    fn name(&self) -> &'static str;

    /// A peer has connected.
    fn peer_is_up(&self, peer: &PeerId);

    /// A peer is away.
    fn peer_is_down(&self, peer: &PeerId);

    /// A peer tells something; it may come twice, and in no order with what other
    /// peers tell.
    fn receive(&self, peer: &PeerId, body: Value);
}

/// A master's side of its cluster.
pub(crate) struct Cluster {
    pub(crate) settings: ClusterSettings,
    /// This master.
    pub(crate) own: PeerId,
    /// The links.
    pub(crate) mesh: Mesh,
    /// The shared files.
    pub(crate) dir: ClusterDir,
    /// The secret by which masters join.
    pub(crate) secret: ClusterSecret,
    /// Session keys.
    pub(crate) grants: Grants,
    /// The keys that minions see.
    pub(crate) identity: MasterKeys,
    /// This master's own public key, PEM.
    pub(crate) own_key: String,
    /// Whether this master is to hand its minions over, or has.
    pub(crate) drain: Drain,
    copies: Arc<Copies>,
    /// The lives of peers that hand their minions over, or have.
    drained: Mutex<BTreeMap<PeerId, Incarnation>>,
    lead: Mutex<Lead>,
    /// Decides which master runs what must run only once, where there is an arbiter.
    pub(crate) lease: Option<SharedLease>,
    own_dir: PathBuf,
    /// The peers that were connected when it was last looked at, and whether they
    /// all use the same cache directory.
    shared_with: Mutex<(Vec<(PeerId, Incarnation)>, bool)>,
    listener: Mutex<Option<Listener>>,
    runtime: Handle,
}

impl Cluster {
    /// Joins the cluster, if this master shares no files with the others and has not
    /// joined yet. Must be called before any port is opened.
    ///
    /// # Errors
    /// When it may never succeed, or the master is told to stop.
    pub(crate) fn join(
        general: &General,
        settings: &ClusterSettings,
        keys: &MasterKeyOptions<'_>,
    ) -> Result<(), StartError> {
        if !settings.isolated {
            return Ok(());
        }
        let pki = PkiDir::open(&general.pki_dir, None)?;
        let own_keys = MasterKeys::load_or_generate(&pki, keys)?;
        let dir = ClusterDir::open(settings.pki_dir.clone())?;
        join_if_new(master_id(&general.id), own_keys.private(), settings, &dir)
    }

    /// Opens the shared files, creating missing ones, and listens for peers. `store` is
    /// what the masters share besides files. Must run in the runtime.
    ///
    /// # Errors
    /// When a file cannot be used or the address for peers is not to be had.
    pub(crate) fn open(
        general: &General,
        settings: ClusterSettings,
        keys: &MasterKeyOptions<'_>,
        store: Option<Cache>,
    ) -> Result<Self, StartError> {
        let id = master_id(&general.id);
        let own = PeerId::parse(id).map_err(|error| StartError::Option {
            option: "id",
            why: error.to_string(),
        })?;
        let pki = PkiDir::open(&general.pki_dir, None)?;
        let dir = ClusterDir::open(settings.pki_dir.clone())?;
        // Peers that dial before this master serves wait, and are not refused.
        let listener = Listener::bind(settings.listen).map_err(StartError::Mesh)?;
        let options = ClusterKeyOptions {
            passphrase: settings.key_pass.as_ref(),
            fingerprint: settings.fingerprint.as_deref(),
        };
        let own_keys = std::thread::scope(|scope| {
            scope.spawn(|| make_key_pair(&dir, &own, &settings, keys.bits, &options));
            MasterKeys::load_or_generate(&pki, keys)
        })?;
        let identity = dir.identity(&pki, keys, &options)?;
        dir.add_peer(id, own_keys.private())?;
        let life = Incarnation(u64::from_le_bytes(random_bytes()));
        let own_dir = general.own_cachedir.clone();
        let prepare = |source| StartError::File {
            what: "the master's own directory of the cluster",
            source,
        };
        if let Some(all) = own_dir.parent() {
            ensure_private_dir(all, None).map_err(prepare)?;
        }
        ensure_private_dir(&own_dir, None).map_err(prepare)?;
        let options = WriteOptions::new(MODE_SECRET);
        write_atomic(&own_dir.join(LIFE), options, life.to_string().as_bytes()).map_err(prepare)?;
        let mesh = Mesh::new(MeshOptions {
            cluster: settings.id.clone(),
            incarnation: life,
            key: own_keys.private().clone(),
            pins: Pins::open(dir.peers()).map_err(prepare)?,
            peers: settings.peers.clone(),
            heard: own_dir.join("heard"),
            bus: settings.bus.clone(),
        })
        .map_err(StartError::Mesh)?;
        let arbiter = Arbiter::of(&settings, &mesh, store).map_err(StartError::Threads)?;
        let secret = ClusterSecret::open(&settings)?;
        let root = DerivationRoot::of_key(identity.private(), SESSIONS)?;
        Ok(Self {
            grants: Grants::begin(root, (own.clone(), life), settings.session_s, now_s()),
            lease: arbiter.map(|arbiter| SharedLease::new(arbiter, &own, life)),
            settings,
            lead: Mutex::new(Lead::new(own.clone(), Instant::now())),
            drain: Drain::default(),
            copies: Arc::default(),
            drained: Mutex::default(),
            own,
            mesh,
            dir,
            secret,
            identity,
            own_key: own_keys.private().public()?.to_pem()?,
            own_dir,
            shared_with: Mutex::new((Vec::new(), true)),
            listener: Mutex::new(Some(listener)),
            runtime: Handle::current(),
        })
    }

    /// Whether the connected peers use the same cache directory; false if none is
    /// connected.
    pub(crate) fn shares_cache(&self) -> bool {
        if self.settings.isolated {
            return false;
        }
        let living = self.living();
        // Those that are away hear of it when they are back.
        if living.is_empty() {
            return false;
        }
        let mut shared = self
            .shared_with
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if shared.0 != living {
            let is_shared = |(peer, life): &(PeerId, Incarnation)| {
                let path = self.own_dir.with_file_name(peer.as_str()).join(LIFE);
                fs::read_to_string(path).is_ok_and(|text| text == life.to_string())
            };
            *shared = (living.clone(), living.iter().all(is_shared));
        }
        shared.1
    }

    /// A file of this master in its own directory.
    pub(crate) fn own_file(&self, name: &str) -> PathBuf {
        self.own_dir.join(name)
    }

    /// Takes the listener for peers, to be served.
    pub(crate) fn take_listener(&self) -> Option<Listener> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.take()
    }

    /// Sends a message to all peers; returns its number, if it could be sent.
    pub(crate) fn tell(&self, message: &Message) -> Option<u64> {
        self.tell_packed(message.encode())
    }

    /// Tells all peers of an event of the local bus.
    pub(crate) fn tell_event(&self, packed: &[u8]) {
        self.tell_packed(pack_event(packed));
    }

    /// Sends a message to one peer; returns its number, if it could be sent.
    pub(crate) fn tell_one(&self, peer: &PeerId, message: &Message) -> Option<u64> {
        self.mesh.tell_one(peer, &packed(message.encode())?)
    }

    fn tell_packed(&self, message: Result<Vec<u8>, PackError>) -> Option<u64> {
        self.mesh.tell(&packed(message)?)
    }

    /// Waits until the peers that are linked have handled a message, at most so
    /// long. Not for threads of the runtime.
    pub(crate) fn wait_for(&self, number: u64, wait_max: Duration) {
        let mesh = self.mesh.clone();
        let told = async move {
            mesh.acknowledged(number, wait_max).await;
        };
        self.wait(told, wait_max);
    }

    fn wait(&self, task: impl Future<Output = ()> + Send + 'static, wait_max: Duration) {
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            task.await;
            let _ = done.send(());
        });
        // The task waits no longer either; it is gone where the runtime is.
        let _ = wait.recv_timeout(wait_max);
    }

    /// The peers that are connected to this master, each in its life.
    pub(crate) fn living(&self) -> Vec<(PeerId, Incarnation)> {
        self.mesh.living()
    }

    /// Whether this master does what is to be done once.
    pub(crate) fn leads(&self) -> bool {
        if let Some(lease) = &self.lease {
            return lease.is_held();
        }
        let is_linked = self.mesh.is_linked_to_all();
        self.lead().leads(Instant::now(), is_linked)
    }

    /// The name of the master that does, as this one sees it; empty if none does.
    pub(crate) fn first(&self) -> String {
        match &self.lease {
            Some(lease) => lease.holder(),
            None => self.lead().first().to_string(),
        }
    }

    /// A peer has connected; returns what is known of a cut of the link, if it was cut.
    pub(crate) fn note_up(&self, peer: &PeerId, life: Incarnation) -> Option<Met> {
        let members = self.mesh.peers();
        let mut lead = self.lead();
        lead.retain(|peer| members.iter().any(|of| of.peer == *peer));
        let met = lead.is_up(Instant::now(), peer, life)?;
        Some(match &self.lease {
            Some(lease) => Met {
                led: lease.is_held(),
                ..met
            },
            None => met,
        })
    }

    /// A peer is away.
    pub(crate) fn note_down(&self, peer: &PeerId) {
        self.lead().is_down(Instant::now(), peer);
    }

    /// A peer hands its minions over: in this life it takes none again.
    pub(crate) fn note_drained(&self, peer: &PeerId) {
        let living = self.living();
        let mut drained = self.drained();
        // One that has begun another life since may take minions.
        drained.retain(|peer, life| living.iter().any(|(of, now)| of == peer && *now == *life));
        drained.extend(living.into_iter().filter(|(of, _)| of == peer));
    }

    /// The connected peers that take minions.
    pub(crate) fn serving(&self) -> Vec<PeerId> {
        let living = self.living();
        let drained = self.drained();
        let serves = |(peer, life): &(PeerId, Incarnation)| drained.get(peer) != Some(life);
        living
            .into_iter()
            .filter(serves)
            .map(|(peer, _)| peer)
            .collect()
    }

    fn drained(&self) -> MutexGuard<'_, BTreeMap<PeerId, Incarnation>> {
        self.drained.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lead(&self) -> MutexGuard<'_, Lead> {
        self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins another grant, and tells the peers.
    pub(crate) fn renew_grant(&self) -> Grant {
        let grant = self.grants.renew(self.living(), now_s());
        self.tell(&Message::Grant(grant.clone()));
        grant
    }

    /// An identity whose job ids no peer draws: which of the masters that are
    /// configured this is says which of the last digits are its own.
    pub(crate) fn publisher(&self) -> PublisherId {
        let own = self.own.as_str().to_owned();
        let peers = self.settings.peers.iter();
        let mut names: Vec<String> = peers.map(|peer| peer.host().to_owned()).collect();
        names.push(own.clone());
        names.sort_unstable();
        names.dedup();
        let rank = names.iter().position(|name| *name == own).unwrap_or(0) as u64;
        let random = u64::from_le_bytes(random_bytes()) >> 1;
        let slots = (PublisherId::STEP / names.len() as u64).max(1);
        let residue = (random % slots) * names.len() as u64 + rank;
        let high = random / PublisherId::STEP / 2 * PublisherId::STEP;
        PublisherId::new(high + residue % PublisherId::STEP)
    }
}

fn packed(message: Result<Vec<u8>, PackError>) -> Option<Vec<u8>> {
    message
        .inspect_err(|error| {
            tracing::error!("could not send a message to the peers: {}", chain(error));
        })
        .ok()
}

/// Makes the key pair of a cluster that has none. Of masters that start at once the first
/// by name does, and the others leave it the processors.
fn make_key_pair(
    dir: &ClusterDir,
    own: &PeerId,
    settings: &ClusterSettings,
    bits: u32,
    options: &ClusterKeyOptions<'_>,
) {
    let mut peers = settings.peers.iter();
    if !settings.isolated && peers.any(|peer| peer.host() < own.as_str()) {
        dir.wait_for_key_pair(KEY_PAIR_WAIT_MAX);
    }
    // Whoever reads the pair tries again, and reports the error.
    dir.make_key_pair(bits, options).ok();
}
