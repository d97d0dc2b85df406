//! The handle of a master on all of its links.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::accept::{Listener, accept_from_bus, accept_peers};
use crate::dial::keep_dialling;
use crate::error::MeshError;
use crate::join::Joins;
use crate::limits::{HEARD_EVERY, PEERS_MAX, PINS_EVERY};
use crate::nats::{Bus, BusStatus, Engine, Register, register};
use crate::peer::{Incarnation, PeerAddress, PeerId};
use crate::publish::publish_all;
use crate::shared::{LogStatus, MeshOptions, PeerStatus, Shared};
use crate::wire::Receiver;

/// All links of a master. Clones are the same.
#[derive(Clone)]
pub struct Mesh(pub(crate) Arc<Shared>);

impl Mesh {
    /// Makes a master's side of the links; nothing is connected yet.
    ///
    /// # Errors
    /// When TLS cannot be set up with the master's key.
    pub fn new(options: MeshOptions) -> Result<Self, MeshError> {
        Ok(Self(Arc::new(Shared::new(options)?)))
    }

    /// Masters whose keys are not known may ask to join from now on. The first
    /// call counts.
    pub fn let_join(&self, joins: Arc<dyn Joins>) {
        let _ = self.0.joins.set(joins);
    }

    /// Dials a peer that is not configured too.
    pub fn also_dial(&self, address: PeerAddress) {
        self.0.learn_address(address);
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
    /// of the message. None if it is longer than [`MESSAGE_BYTES_MAX`], and told to
    /// nobody.
    ///
    /// [`MESSAGE_BYTES_MAX`]: crate::limits::MESSAGE_BYTES_MAX
    pub fn tell(&self, message: &[u8]) -> Option<u64> {
        self.0.tell(None, message)
    }

    /// Tells one peer; as [`tell`](Self::tell).
    pub fn tell_one(&self, peer: &PeerId, message: &[u8]) -> Option<u64> {
        self.0.tell(Some(peer.clone()), message)
    }

    /// Keeps the message of this number no more for peers that are away: whom it was
    /// for has it, or is not to have it. A peer that asks for it again gets a message
    /// that is nil in MessagePack.
    pub fn release(&self, number: u64) {
        self.0.release(number);
    }

    /// Waits until every peer that is linked has handled the message of this
    /// number, at most so long. Whether one has at all.
    pub async fn acknowledged(&self, number: u64, wait_max: Duration) -> bool {
        let mut changed = self.0.changes();
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

    /// Whether some linked peer has handled the message of this number.
    pub fn is_copied(&self, number: u64) -> bool {
        self.0.is_handled_by_one(number)
    }

    /// Whether the message of this number was forgotten before a peer that is linked now
    /// was told it, and no other one has handled it.
    pub fn is_skipped(&self, number: u64) -> bool {
        self.0.is_skipped(number)
    }

    /// Waits until some peer has handled the message of this number, until none is
    /// linked, or so long. Whether one has.
    pub async fn copied(&self, number: u64, wait_max: Duration) -> bool {
        let has_one = || self.0.is_handled_by_one(number);
        let waited = timeout(wait_max, async {
            loop {
                // What changes from here on wakes it.
                let mut waiting = self.0.waiters.begin(number);
                if self.0.acknowledged().is_empty() || has_one() {
                    return;
                }
                waiting.woken().await;
            }
        });
        let _ = waited.await;
        has_one()
    }

    /// Waits until every peer that is linked has handled all that was told, at
    /// most so long. Whether one has at all.
    pub async fn all_acknowledged(&self, wait_max: Duration) -> bool {
        let last = *self.0.last().borrow();
        self.acknowledged(last, wait_max).await
    }

    /// Waits until each of the configured peers is linked, at most so long.
    pub async fn linked(&self, wait_max: Duration) -> bool {
        let mut changed = self.0.changes();
        let waited = timeout(wait_max, async {
            while !self.0.is_linked_to_all() && changed.changed().await.is_ok() {}
        });
        let _ = waited.await;
        self.0.is_linked_to_all()
    }

    /// Whether each of the configured peers is linked.
    pub fn is_linked_to_all(&self) -> bool {
        self.0.is_linked_to_all()
    }

    /// The peers that are connected to this master, each in its life.
    pub fn living(&self) -> Vec<(PeerId, Incarnation)> {
        self.0.living()
    }

    /// All peers whose keys are known, with the state of their links.
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.0.peers()
    }

    /// What is kept to be told again, and what could not be.
    pub fn log(&self) -> LogStatus {
        self.0.log_status()
    }

    /// The bus, if there is one.
    pub fn bus(&self) -> Option<BusStatus> {
        self.0.bus.as_ref().map(|bus| bus.status())
    }

    /// The value that all masters of the cluster see.
    ///
    /// # Errors
    /// When there is no bus, or it does not answer.
    pub async fn register(&self) -> Result<Register, MeshError> {
        register::read(self.engine()?).await
    }

    /// Sets that value, if it has this serial number; its new number, or none if it has
    /// another one, and is as it was.
    ///
    /// # Errors
    /// As [`register`](Self::register); it may be set all the same.
    pub async fn set_register(&self, serial: u64, value: &[u8]) -> Result<Option<u64>, MeshError> {
        register::set(self.engine()?, serial, value).await
    }

    fn engine(&self) -> Result<&Engine, MeshError> {
        self.0.bus.as_ref().ok_or(MeshError::BusAway)?.engine()
    }

    /// Keeps the links until it is dropped: takes connections of peers, dials
    /// them, and gives what they tell to `receiver`.
    pub async fn run(&self, listener: Listener, receiver: Arc<dyn Receiver>) {
        let mut tasks = JoinSet::new();
        let listens = listener.address();
        if let Some(bus) = &self.0.bus {
            let (of, bus) = (Arc::clone(&self.0), Arc::clone(bus));
            tasks.spawn(run_bus(of, bus, Arc::clone(&receiver)));
        }
        tasks.spawn(accept_peers(Arc::clone(&self.0), listener, receiver));
        let mut dials = JoinSet::new();
        let mut dialling = HashMap::new();
        let mut next_write = Instant::now();
        loop {
            while let Some(ended) = dials.try_join_next_with_id() {
                // Also one that has failed, which is begun again below.
                dialling.remove(&ended.map_or_else(|failed| failed.id(), |(id, ())| id));
            }
            for way in self.0.wanted_ways() {
                if !dialling.values().any(|of| *of == way) && dialling.len() < PEERS_MAX {
                    let dial = keep_dialling(Arc::clone(&self.0), way.clone(), listens);
                    dialling.insert(dials.spawn(dial).id(), way);
                }
            }
            let mut changed = self.0.link_changes();
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

/// What there is to do with a bus besides the links.
async fn run_bus(mesh: Arc<Shared>, bus: Arc<Bus>, receiver: Arc<dyn Receiver>) {
    let engine = bus.connect().await;
    tokio::join!(
        engine.follow(),
        bus.hand_out(),
        publish_all(&mesh, &bus, engine),
        accept_from_bus(&mesh, &bus, &receiver),
    );
}
