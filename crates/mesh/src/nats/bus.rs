//! A master's side of the bus: what all of its links share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt as _;
use halite_crypto::BroadcastKey;
use halite_proto::chain;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::batch::{HEAD_BYTES, Head, encode};
use super::book::{Stored, context};
use super::connection::{Connection, Returns};
use super::engine::Engine;
use super::options::{BusOptions, BusServer};
use super::places::Places;
use super::signs::Signs;
use super::subjects::Subjects;
use crate::error::MeshError;
use crate::limits::{BUS_HELD_PIECES_MAX, BUS_PIECE_BYTES_MAX, BUS_RECONNECT_MAX};
use crate::log::LoggedMessage;
use crate::peer::{Incarnation, PeerId};

/// How the bus is, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusStatus {
    /// Its servers: `host:port`.
    pub servers: Vec<String>,
    /// Whether this master is connected to one.
    pub is_connected: bool,
    /// Whether it keeps what this master tells, so far as is known: one without JetStream
    /// or with a full disk does not.
    pub is_storing: bool,
}

/// A key with which this master seals, and which one it is.
pub(crate) struct SealingKey {
    pub(crate) epoch: u64,
    pub(crate) key: BroadcastKey,
}

/// See the module.
pub(crate) struct Bus {
    pub(crate) options: BusOptions,
    pub(crate) subjects: Subjects,
    context: Vec<u8>,
    life: Incarnation,
    begun: Instant,
    engine: OnceLock<Engine>,
    connection: Arc<Connection>,
    is_storing: AtomicBool,
    key: watch::Sender<Arc<SealingKey>>,
    places: Mutex<Places>,
    /// Changes when something is to be put on the engine again.
    wanted: watch::Sender<u64>,
    /// That peers live.
    pub(crate) signs: Signs,
    /// Who hears the peers that are linked.
    hearers: Mutex<HashMap<PeerId, mpsc::Sender<Bytes>>>,
}

impl Bus {
    pub(crate) fn new(options: BusOptions, cluster: &str, life: Incarnation) -> Self {
        let key = SealingKey {
            epoch: 1,
            key: BroadcastKey::generate(),
        };
        let servers: Vec<String> = options.servers.iter().map(BusServer::shown).collect();
        Self {
            context: context(cluster, &options.own),
            subjects: Subjects::new(cluster),
            connection: Arc::new(Connection::new(servers.join(", "))),
            is_storing: AtomicBool::new(true),
            options,
            life,
            begun: Instant::now(),
            engine: OnceLock::new(),
            key: watch::Sender::new(Arc::new(key)),
            places: Mutex::default(),
            wanted: watch::Sender::new(0),
            signs: Signs::default(),
            hearers: Mutex::default(),
        }
    }

    pub(crate) fn status(&self) -> BusStatus {
        BusStatus {
            servers: self.options.servers.iter().map(BusServer::shown).collect(),
            is_connected: self.connection.is_up(),
            is_storing: self.is_storing.load(Ordering::Relaxed),
        }
    }

    /// Whether the engine has kept what it was last given; whether that is new.
    pub(crate) fn note_storing(&self, is_storing: bool) -> bool {
        self.is_storing.swap(is_storing, Ordering::Relaxed) != is_storing
    }

    /// The engine, once this master has begun to connect to it.
    pub(crate) fn engine(&self) -> Result<&Engine, MeshError> {
        self.engine.get().ok_or(MeshError::BusAway)
    }

    /// Connects to the engine, again and again until a connection is begun; it is
    /// kept from then on.
    pub(crate) async fn connect(&self) -> &Engine {
        let mut was_said = false;
        loop {
            if let Some(engine) = self.engine.get() {
                return engine;
            }
            let connection = Arc::clone(&self.connection);
            match Engine::connect(&self.options, self.subjects.clone(), connection).await {
                Ok(engine) => {
                    let _ = self.engine.set(engine);
                    continue;
                }
                Err(error) if !was_said => {
                    was_said = true;
                    tracing::error!("no connection to the bus: {}", chain(&error));
                }
                Err(_) => {}
            }
            sleep(BUS_RECONNECT_MAX).await;
        }
    }

    /// What this master's clock shows: milliseconds of its life.
    pub(crate) fn clock_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The key with which is sealed, as it changes.
    pub(crate) fn keys(&self) -> watch::Receiver<Arc<SealingKey>> {
        self.key.subscribe()
    }

    /// Seals with another key from now on: somebody who has the last one is no peer
    /// any more.
    pub(crate) fn renew_key(&self) {
        self.key.send_modify(|key| {
            *key = Arc::new(SealingKey {
                epoch: key.epoch + 1,
                key: BroadcastKey::generate(),
            });
        });
    }

    /// Seals messages in pieces of so many bytes.
    pub(crate) fn seal(&self, told: &[LoggedMessage], piece_bytes: usize) -> Vec<Vec<u8>> {
        let (Some(first), Some(last)) = (told.first(), told.last()) else {
            return Vec::new();
        };
        let key = Arc::clone(&self.key.borrow());
        let content = encode(told, self.begun);
        let room = piece_bytes.saturating_sub(HEAD_BYTES + BroadcastKey::OVERHEAD);
        let pieces = content.chunks(room.max(1));
        let count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        let sealed = pieces.zip(0..).map(|(piece, n)| {
            let head = Head {
                life: self.life,
                epoch: key.epoch,
                first: first.number,
                last: last.number,
                piece: n,
                pieces: count,
            };
            key.key.seal(&self.context, &head.encode(), piece)
        });
        sealed.collect()
    }

    /// After which message the next is to be put on the engine.
    pub(crate) fn next_after(&self) -> u64 {
        self.places().next_after()
    }

    pub(crate) fn note_stored(&self, after: u64, last: u64, sequence: u64) {
        self.places().note_stored(after, last, sequence);
    }

    /// All who are linked have heard the messages up to a number, which the engine did not
    /// keep.
    pub(crate) fn note_heard(&self, number: u64) {
        self.places().note_heard(number);
    }

    /// When the engine is there again: what was handed out meanwhile did not come here.
    pub(crate) fn returns(&self) -> Returns {
        Returns::of(&self.connection)
    }

    /// What a peer is told that has handled all up to a number.
    pub(crate) fn stored_after(&self, handled: u64) -> Stored {
        let places = self.places();
        Stored {
            number: places.stored(),
            sequence: places.after(handled),
        }
    }

    /// A peer lacks what follows a number, and the engine has it no more, or not yet.
    pub(crate) fn put_again(&self, number: u64) {
        let mut places = self.places();
        let is_on_its_way = number >= places.stored();
        if is_on_its_way || places.put_again(Instant::now(), number) {
            self.wanted.send_modify(|count| *count += 1);
        }
    }

    /// A peer is linked: it has not heard what was on its way before.
    pub(crate) fn note_linked(&self) {
        self.wanted.send_modify(|count| *count += 1);
    }

    /// What follows a number is put on the engine once more, whoever has heard it.
    pub(crate) fn tell_again(&self, number: u64) {
        self.places().tell_again(number);
    }

    /// Whether the engine kept what it was given last.
    pub(crate) fn is_storing(&self) -> bool {
        self.is_storing.load(Ordering::Relaxed)
    }

    /// Changes when something is to be put on the engine again.
    pub(crate) fn wanted(&self) -> watch::Receiver<u64> {
        self.wanted.subscribe()
    }

    /// What the engine hands out of a peer from now on. One that does not read fast
    /// enough finds the rest in the engine's stream.
    pub(crate) fn hear(&self, peer: &PeerId) -> mpsc::Receiver<Bytes> {
        let (sender, pieces) = mpsc::channel(BUS_HELD_PIECES_MAX);
        self.hearers().insert(peer.clone(), sender);
        pieces
    }

    /// Hands out what the engine says, for as long as it is polled.
    pub(crate) async fn hand_out(&self) {
        let engine = self.connect().await;
        loop {
            match engine.subscribe(self.subjects.told_by_all()).await {
                Ok(mut told) => {
                    while let Some(message) = told.next().await {
                        self.hand(&message.subject, message.payload);
                    }
                }
                Err(error) => tracing::debug!("not subscribed: {}", chain(&error)),
            }
            sleep(BUS_RECONNECT_MAX).await;
        }
    }

    fn hand(&self, subject: &str, piece: Bytes) {
        // No master says so much at once: whoever does is to fill no memory.
        if piece.len() > BUS_PIECE_BYTES_MAX {
            return;
        }
        let Some(peer) = self.subjects.teller(subject) else {
            return;
        };
        let mut hearers = self.hearers();
        if let Some(hearer) = hearers.get(&peer) {
            let is_gone = matches!(
                hearer.try_send(piece),
                Err(mpsc::error::TrySendError::Closed(_))
            );
            if is_gone {
                hearers.remove(&peer);
            }
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hearers(&self) -> MutexGuard<'_, HashMap<PeerId, mpsc::Sender<Bytes>>> {
        self.hearers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
