//! What all tasks of a master's links share: which peers are linked, and the
//! messages sent and received.
//!
//! Invariant: the locks of the log and of the state are held for moments only,
//! never while a task waits for a socket or a disk.

mod bus;
mod changes;
mod skipped;
mod status;
mod waiters;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use halite_crypto::PrivateKey;
use halite_crypto::files::{MODE_SECRET, WriteOptions, read_limited, write_atomic};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep_until;

use self::waiters::Waiters;
use crate::error::MeshError;
use crate::handshakes::Handshakes;
use crate::heard::Heard;
use crate::join::Joins;
use crate::limits::{
    HEARD_BYTES_MAX, MESSAGE_BYTES_MAX, PEERS_MAX, REPLAY_AGE, REPLAY_BYTES_MAX,
    REPLAY_MESSAGES_MAX, UNKNOWN_KEY_EVERY,
};
use crate::log::{Bounds, Log, LoggedMessage};
use crate::nats::{Bus, BusOptions};
use crate::peer::{Incarnation, PeerAddress, PeerId, Way};
use crate::pins::Pins;
use crate::salt::SaltSeen;
use crate::tls::Tls;
pub use status::{LogStatus, PeerStatus};

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
    /// The bus that carries the messages, if there is one.
    pub bus: Option<BusOptions>,
}

pub(crate) struct Shared {
    pub(crate) cluster: String,
    pub(crate) incarnation: Incarnation,
    pub(crate) tls: Tls,
    pub(crate) pins: Pins,
    pub(crate) handshakes: Arc<Handshakes>,
    pub(crate) salt_seen: SaltSeen,
    pub(crate) joins: OnceLock<Arc<dyn Joins>>,
    pub(crate) bus: Option<Arc<Bus>>,
    addresses: Vec<PeerAddress>,
    heard_path: PathBuf,
    log: Mutex<Log>,
    /// The number of the last message.
    last: watch::Sender<u64>,
    state: Mutex<State>,
    /// Changes with every acknowledgement and every link.
    changed: watch::Sender<u64>,
    /// Changes with every link.
    links_changed: watch::Sender<u64>,
    /// Who waits for an acknowledgement.
    pub(crate) waiters: Waiters,
    /// When the files of the peers may be looked at again for an unknown key.
    looked: tokio::sync::Mutex<Instant>,
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
    /// The last message that was forgotten before a peer was told it.
    skipped: BTreeMap<PeerId, u64>,
    /// How many messages that were, of all peers.
    skipped_count: u64,
}

struct Dialled {
    way: Way,
    acknowledged: u64,
}

impl Shared {
    /// See [`Mesh::new`](crate::Mesh::new).
    pub(crate) fn new(options: MeshOptions) -> Result<Self, MeshError> {
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
        let bus = options.bus.map(|bus| {
            let bus = Bus::new(bus, &options.cluster, options.incarnation);
            Arc::new(bus)
        });
        Ok(Self {
            tls: Tls::new(&options.key)?,
            bus,
            cluster: options.cluster,
            incarnation: options.incarnation,
            pins: options.pins,
            handshakes: Arc::default(),
            salt_seen: SaltSeen::default(),
            joins: OnceLock::new(),
            addresses: options.peers,
            heard_path: options.heard,
            log: Mutex::new(Log::new(bounds)),
            last: watch::Sender::new(0),
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            links_changed: watch::Sender::new(0),
            waiters: Waiters::default(),
            looked: tokio::sync::Mutex::new(Instant::now()),
            turns: Mutex::default(),
        })
    }

    /// An address of a peer that is to be dialled too.
    pub(crate) fn learn_address(&self, address: PeerAddress) {
        let mut state = self.state();
        self.learn(&mut state, address);
        drop(state);
        self.note_change();
    }

    fn learn(&self, state: &mut State, address: PeerAddress) {
        if state.learnt.contains(&address) || self.addresses.contains(&address) {
            return;
        }
        if state.learnt.len() >= PEERS_MAX {
            // The oldest at which nobody is.
            let is_linked = |address: &PeerAddress| {
                let mut dialled = state.dialled.values();
                dialled.any(|of| matches!(&of.way, Way::Direct(at) if at == address))
            };
            match state.learnt.iter().position(|known| !is_linked(known)) {
                Some(at) => state.learnt.remove(at),
                None => return,
            };
        }
        state.learnt.push(address);
    }

    /// Whether a peer may be at an address.
    fn is_address(&self, address: &PeerAddress) -> bool {
        self.addresses.contains(address) || self.state().learnt.contains(address)
    }

    /// Whether there are as many links, both ways, as peers are configured.
    pub(crate) fn is_linked_to_all(&self) -> bool {
        let wanted = self.addresses.len();
        let state = self.state();
        state.dialled.len() >= wanted && state.heard_by.len() >= wanted
    }

    pub(crate) fn tell(&self, to: Option<PeerId>, message: &[u8]) -> Option<u64> {
        if message.len() > MESSAGE_BYTES_MAX {
            tracing::error!(
                "a message of {} bytes is too long for the peers",
                message.len()
            );
            return None;
        }
        let mut log = self.log();
        let number = log.tell(Instant::now(), to, message.into());
        self.last.send_replace(number);
        Some(number)
    }

    /// See [`Mesh::release`](crate::Mesh::release).
    pub(crate) fn release(&self, number: u64) {
        self.log().release(number);
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
    ) -> (Vec<LoggedMessage>, bool) {
        self.log().after(number, count_max, bytes_max)
    }

    /// Whether a peer was dialled, and the connection holds.
    pub(crate) fn is_linked(&self, peer: &PeerId) -> bool {
        self.state().dialled.contains_key(peer)
    }

    /// A peer was dialled; false if it is already.
    pub(crate) fn link_up(&self, peer: &PeerId, way: &Way, heard: u64) -> bool {
        let mut state = self.state();
        if state.dialled.contains_key(peer) {
            return false;
        }
        let dialled = Dialled {
            way: way.clone(),
            acknowledged: heard,
        };
        state.dialled.insert(peer.clone(), dialled);
        drop(state);
        if let Some(bus) = &self.bus {
            bus.note_linked();
        }
        self.note_change();
        true
    }

    pub(crate) fn link_down(&self, peer: &PeerId) {
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
        state.heard.begin(peer, life, || self.pins.peers());
        state.is_written = false;
        let connections = state.heard_by.entry(peer.clone()).or_insert((life, 0));
        connections.0 = life;
        connections.1 += 1;
        if let Some(listens) = listens
            && !state.dialled.contains_key(peer)
            // Where the configuration says how a peer is reached, that holds: it may
            // lie behind a forwarded port.
            && !self.addresses.iter().any(|of| of.host() == peer.as_str())
        {
            self.learn(&mut state, listens);
        }
        let heard = state.heard.up_to(peer).map_or(0, |place| place.number);
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
        let place = self.state().heard.up_to(peer);
        place.is_some_and(|place| place.incarnation == life && place.number < number)
    }

    /// A message of a peer was handled.
    pub(crate) fn record_handled(&self, peer: &PeerId, life: Incarnation, number: u64) {
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
    /// peer may have started a moment ago; at most so often, since anybody can show a
    /// key. Whoever comes too soon after a look waits for the next one: masters that
    /// start together meet at once.
    pub(crate) async fn owner(self: &Arc<Self>, key: &str) -> Result<PeerId, MeshError> {
        if let Some(peer) = self.pins.owner(key) {
            return Ok(peer);
        }
        let came = Instant::now();
        let mut looked = self.looked.lock().await;
        // One look answers all who have waited for it.
        if *looked < came {
            sleep_until((*looked + UNKNOWN_KEY_EVERY).into()).await;
            *looked = Instant::now();
            let shared = Arc::clone(self);
            let found = spawn_blocking(move || shared.pins.refresh()).await;
            found.map_err(std::io::Error::other)??;
        }
        self.pins.owner(key).ok_or_else(|| MeshError::Unpinned {
            dir: self.pins.dir().to_owned(),
        })
    }

    /// Whether the key of a connection still belongs to a peer.
    pub(crate) fn is_pinned(&self, key: &str, peer: &PeerId) -> bool {
        self.pins.owner(key).as_ref() == Some(peer)
    }

    /// Reads the files of the peers again, and writes down what was heard.
    pub(crate) fn keep_up(&self) {
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
            tracing::warn!("could not record which messages of peers were received: {error}");
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
