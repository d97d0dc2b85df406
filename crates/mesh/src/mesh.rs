//! The handle of a master on all of its links.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use halite_crypto::PrivateKey;
use halite_crypto::files::{MODE_SECRET, WriteOptions, read_limited, write_atomic};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::accept::accept_peers;
use crate::dial::keep_dialling;
use crate::error::MeshError;
use crate::handshakes::Handshakes;
use crate::heard::Heard;
use crate::join::Joins;
use crate::limits::{
    HEARD_BYTES_MAX, HEARD_EVERY, MESSAGE_BYTES_MAX, PEERS_MAX, PINS_EVERY, REPLAY_AGE,
    REPLAY_BYTES_MAX, REPLAY_MESSAGES_MAX, UNKNOWN_KEY_EVERY,
};
use crate::log::{Bounds, Log, Told};
use crate::peer::{Incarnation, PeerAddress, PeerId};
use crate::pins::Pins;
use crate::tls::Tls;
use crate::wire::Receiver;

/// What a master's links are made with.
pub struct MeshOptions {
    /// The name of the cluster; a peer of another one is refused.
    pub cluster: String,
    /// This life of the master.
    pub incarnation: Incarnation,
    /// The master's own key.
    pub key: PrivateKey,
    /// The keys of its peers.
    pub pins: Pins,
    /// Where its peers are.
    pub peers: Vec<PeerAddress>,
    /// The file in which it is kept what was heard of peers.
    pub heard: PathBuf,
}

/// The state of one peer, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// The peer.
    pub peer: PeerId,
    /// Where it was dialled, while that connection holds.
    pub dialled: Option<PeerAddress>,
    /// Its life, while it is connected to us.
    pub heard: Option<Incarnation>,
    /// Messages that it has not acknowledged.
    pub behind: u64,
}

/// All links of a master. Clones are the same.
#[derive(Clone)]
pub struct Mesh(pub(crate) Arc<Shared>);

/// The bound address for peers.
pub struct Listener(pub(crate) TcpListener);

pub(crate) struct Shared {
    pub(crate) cluster: String,
    pub(crate) incarnation: Incarnation,
    pub(crate) tls: Tls,
    pub(crate) pins: Pins,
    pub(crate) handshakes: Arc<Handshakes>,
    pub(crate) joins: OnceLock<Arc<dyn Joins>>,
    addresses: Vec<PeerAddress>,
    heard_path: PathBuf,
    log: Mutex<Log>,
    /// The number of the last message.
    last: watch::Sender<u64>,
    state: Mutex<State>,
    /// Changes with every acknowledgement and every link.
    changed: watch::Sender<u64>,
    /// When the files of the peers may be looked at again for an unknown key.
    next_look: tokio::sync::Mutex<Instant>,
    /// Held while messages of a peer are handled.
    turns: Mutex<HashMap<PeerId, Arc<Mutex<()>>>>,
}

#[derive(Default)]
struct State {
    heard: Heard,
    is_written: bool,
    /// The peers that we have dialled, with what they have acknowledged.
    dialled: BTreeMap<PeerId, Dialled>,
    /// The peers that have dialled us, and by how many connections.
    heard_by: BTreeMap<PeerId, (Incarnation, usize)>,
    /// Where peers that have dialled us say that they listen.
    learnt: Vec<PeerAddress>,
}

struct Dialled {
    address: PeerAddress,
    acknowledged: u64,
}

impl Listener {
    /// Listens for peers.
    ///
    /// # Errors
    /// When the address is not ours or in use.
    pub fn bind(address: SocketAddr) -> Result<Self, MeshError> {
        let listen = |source| MeshError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        TcpListener::from_std(listener).map(Self).map_err(listen)
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }
}

impl Mesh {
    /// Makes a master's side of the links; nothing is connected yet.
    ///
    /// # Errors
    /// When TLS cannot be set up with the master's key.
    pub fn new(options: MeshOptions) -> Result<Self, MeshError> {
        let bytes = read_limited(&options.heard, HEARD_BYTES_MAX).unwrap_or_default();
        let state = State {
            heard: Heard::unpack(&bytes),
            is_written: true,
            ..State::default()
        };
        let bounds = Bounds {
            age: REPLAY_AGE,
            bytes_max: REPLAY_BYTES_MAX,
            messages_max: REPLAY_MESSAGES_MAX,
        };
        Ok(Self(Arc::new(Shared {
            tls: Tls::new(&options.key)?,
            cluster: options.cluster,
            incarnation: options.incarnation,
            pins: options.pins,
            handshakes: Arc::default(),
            joins: OnceLock::new(),
            addresses: options.peers,
            heard_path: options.heard,
            log: Mutex::new(Log::new(bounds)),
            last: watch::Sender::new(0),
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            next_look: tokio::sync::Mutex::new(Instant::now()),
            turns: Mutex::default(),
        })))
    }

    /// Masters whose keys are not known may ask to join from now on. The first
    /// call counts.
    pub fn let_join(&self, joins: Arc<dyn Joins>) {
        let _ = self.0.joins.set(joins);
    }

    /// Dials a peer that is not configured too.
    pub fn also_dial(&self, address: PeerAddress) {
        let mut state = self.0.state();
        let is_known = state.learnt.contains(&address) || self.0.addresses.contains(&address);
        if !is_known && state.learnt.len() < PEERS_MAX {
            state.learnt.push(address);
        }
        drop(state);
        self.0.note_change();
    }

    /// Reads the keys of the peers again, now: one that is gone is cut off.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn refresh_pins(&self) -> Result<(), MeshError> {
        self.0.pins.refresh()?;
        self.0.note_change();
        Ok(())
    }

    /// This life of the master.
    pub fn incarnation(&self) -> Incarnation {
        self.0.incarnation
    }

    /// Tells all peers, those that are away as soon as they are back; the number
    /// of the message.
    pub fn tell(&self, message: &[u8]) -> u64 {
        self.0.tell(None, message)
    }

    /// Tells one peer.
    pub fn tell_one(&self, peer: &PeerId, message: &[u8]) -> u64 {
        self.0.tell(Some(peer.clone()), message)
    }

    /// Waits until every peer that is linked has handled the message of this
    /// number, at most so long. Whether one has at all.
    pub async fn acknowledged(&self, number: u64, wait_max: Duration) -> bool {
        let mut changed = self.0.changed.subscribe();
        let waited = timeout(wait_max, async {
            loop {
                changed.borrow_and_update();
                let acknowledged = self.0.acknowledged();
                if acknowledged.iter().all(|of| *of >= number) {
                    return;
                }
                if changed.changed().await.is_err() {
                    return;
                }
            }
        });
        let _ = waited.await;
        self.0.acknowledged().iter().any(|of| *of >= number)
    }

    /// Waits until every peer that is linked has handled all that was told, at
    /// most so long. Whether one has at all.
    pub async fn all_acknowledged(&self, wait_max: Duration) -> bool {
        let last = *self.0.last.borrow();
        self.acknowledged(last, wait_max).await
    }

    /// Waits until each of the configured peers is linked, at most so long.
    pub async fn linked(&self, wait_max: Duration) -> bool {
        let mut changed = self.0.changed.subscribe();
        let wanted = self.0.addresses.len();
        let is_linked = || {
            let state = self.0.state();
            state.dialled.len() >= wanted && state.heard_by.len() >= wanted
        };
        let waited = timeout(wait_max, async {
            while !is_linked() && changed.changed().await.is_ok() {}
        });
        let _ = waited.await;
        is_linked()
    }

    /// All peers whose keys are known, with the state of their links.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let last = *self.0.last.borrow();
        let own = self.0.pins.owner(self.0.tls.own());
        let state = self.0.state();
        let mut peers = self.0.pins.peers();
        peers.retain(|peer| Some(peer) != own.as_ref());
        let status = |peer: PeerId| {
            let dialled = state.dialled.get(&peer);
            PeerStatus {
                dialled: dialled.map(|dialled| dialled.address.clone()),
                heard: state.heard_by.get(&peer).map(|(life, _)| *life),
                behind: last - dialled.map_or(0, |dialled| dialled.acknowledged).min(last),
                peer,
            }
        };
        peers.into_iter().map(status).collect()
    }

    /// Keeps the links until it is dropped: takes connections of peers, dials
    /// them, and gives what they tell to `receiver`.
    pub async fn run(&self, listener: Listener, receiver: Arc<dyn Receiver>) {
        let mut tasks = JoinSet::new();
        let listens = listener.address();
        tasks.spawn(accept_peers(self.clone(), listener, receiver));
        let mut dialling = Vec::new();
        let mut next_write = Instant::now();
        loop {
            for address in self.0.wanted_addresses() {
                if !dialling.contains(&address) && dialling.len() < PEERS_MAX {
                    dialling.push(address.clone());
                    tasks.spawn(keep_dialling(self.clone(), address, listens));
                }
            }
            let mut changed = self.0.changed.subscribe();
            // A peer that has just dialled us is dialled at once.
            let _ = timeout(HEARD_EVERY.min(PINS_EVERY), changed.changed()).await;
            if next_write <= Instant::now() {
                next_write = Instant::now() + HEARD_EVERY;
                let mesh = self.clone();
                let _ = spawn_blocking(move || mesh.0.keep_up()).await;
            }
        }
    }
}

impl Shared {
    fn tell(&self, to: Option<PeerId>, message: &[u8]) -> u64 {
        if message.len() > MESSAGE_BYTES_MAX {
            tracing::error!(
                "a message of {} bytes is too long for the peers",
                message.len()
            );
            return *self.last.borrow();
        }
        let mut log = self.log();
        let number = log.tell(Instant::now(), to, message.into());
        self.last.send_replace(number);
        number
    }

    /// The number of the last message, as it changes.
    pub(crate) fn last(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// See [`Log::after`].
    pub(crate) fn after(
        &self,
        number: u64,
        count_max: usize,
        bytes_max: usize,
    ) -> (Vec<Told>, bool) {
        self.log().after(number, count_max, bytes_max)
    }

    /// Whether a peer was dialled, and the connection holds.
    pub(crate) fn is_linked(&self, peer: &PeerId) -> bool {
        self.state().dialled.contains_key(peer)
    }

    /// A peer was dialled; false if it is already.
    pub(crate) fn is_dialled(&self, peer: &PeerId, address: &PeerAddress, heard: u64) -> bool {
        let mut state = self.state();
        if state.dialled.contains_key(peer) {
            return false;
        }
        let dialled = Dialled {
            address: address.clone(),
            acknowledged: heard,
        };
        state.dialled.insert(peer.clone(), dialled);
        drop(state);
        self.note_change();
        true
    }

    pub(crate) fn is_acknowledged(&self, peer: &PeerId, number: u64) {
        if let Some(dialled) = self.state().dialled.get_mut(peer) {
            dialled.acknowledged = dialled.acknowledged.max(number);
        }
        self.note_change();
    }

    pub(crate) fn is_hung_up(&self, peer: &PeerId) {
        self.state().dialled.remove(peer);
        self.note_change();
    }

    /// A peer has dialled us; the last of its messages that is handled.
    pub(crate) fn hears(
        &self,
        peer: &PeerId,
        life: Incarnation,
        listens: Option<PeerAddress>,
    ) -> u64 {
        let mut state = self.state();
        state.heard.begin(peer, life);
        state.is_written = false;
        let connections = state.heard_by.entry(peer.clone()).or_insert((life, 0));
        connections.0 = life;
        connections.1 += 1;
        if let Some(listens) = listens
            && !state.dialled.contains_key(peer)
            && !state.learnt.contains(&listens)
            && state.learnt.len() < PEERS_MAX
        {
            state.learnt.push(listens);
        }
        let heard = state.heard.of(peer).map_or(0, |place| place.number);
        drop(state);
        self.note_change();
        heard
    }

    /// A connection of a peer has ended; whether it was the last.
    pub(crate) fn hears_no_more(&self, peer: &PeerId) -> bool {
        let mut state = self.state();
        let left = state.heard_by.get_mut(peer).map_or(0, |(_, connections)| {
            *connections -= 1;
            *connections
        });
        if left == 0 {
            state.heard_by.remove(peer);
        }
        drop(state);
        self.note_change();
        left == 0
    }

    /// Whether a peer has dialled us, and the connection holds.
    pub(crate) fn is_heard(&self, peer: &PeerId) -> bool {
        self.state().heard_by.contains_key(peer)
    }

    /// Whether a message of a peer is still to be handled.
    pub(crate) fn is_new(&self, peer: &PeerId, life: Incarnation, number: u64) -> bool {
        let place = self.state().heard.of(peer);
        place.is_some_and(|place| place.incarnation == life && place.number < number)
    }

    /// A message of a peer was handled.
    pub(crate) fn is_handled(&self, peer: &PeerId, life: Incarnation, number: u64) {
        let mut state = self.state();
        state.heard.admit(peer, life, number);
        state.is_written = false;
    }

    /// What is held while messages of a peer are handled.
    pub(crate) fn turn(&self, peer: &PeerId) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= 2 * PEERS_MAX {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        Arc::clone(turns.entry(peer.clone()).or_default())
    }

    /// Whose a key is. The files are read again for one that is not known, as its
    /// peer may have started a moment ago; at most so often, since anybody can
    /// show a key.
    pub(crate) async fn owner(self: &Arc<Self>, key: &str) -> Result<PeerId, MeshError> {
        if let Some(peer) = self.pins.owner(key) {
            return Ok(peer);
        }
        let mut next_look = self.next_look.lock().await;
        if self.pins.owner(key).is_none() && *next_look <= Instant::now() {
            let shared = Arc::clone(self);
            let looked = spawn_blocking(move || shared.pins.refresh()).await;
            *next_look = Instant::now() + UNKNOWN_KEY_EVERY;
            looked.map_err(std::io::Error::other)??;
        }
        self.pins.owner(key).ok_or_else(|| MeshError::Unpinned {
            dir: self.pins.dir().to_owned(),
        })
    }

    /// Whether the key of a connection still belongs to a peer.
    pub(crate) fn is_pinned(&self, key: &str, peer: &PeerId) -> bool {
        self.pins.owner(key).as_ref() == Some(peer)
    }

    fn wanted_addresses(&self) -> Vec<PeerAddress> {
        let state = self.state();
        self.addresses
            .iter()
            .chain(&state.learnt)
            .cloned()
            .collect()
    }

    /// What the linked peers have acknowledged.
    fn acknowledged(&self) -> Vec<u64> {
        let state = self.state();
        state.dialled.values().map(|of| of.acknowledged).collect()
    }

    /// Reads the files of the peers again, and writes down what was heard.
    fn keep_up(&self) {
        if let Err(error) = self.pins.refresh() {
            tracing::warn!("could not look for the keys of peers: {error}");
        }
        let packed = {
            let mut state = self.state();
            if state.is_written {
                return;
            }
            state.is_written = true;
            state.heard.pack()
        };
        let options = WriteOptions {
            durable: false,
            ..WriteOptions::new(MODE_SECRET)
        };
        if let Err(error) = write_atomic(&self.heard_path, options, &packed) {
            tracing::warn!("could not write down what was heard of peers: {error}");
        }
    }

    fn note_change(&self) {
        self.changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
