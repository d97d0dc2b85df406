//! The events of beacons on their way to the masters.
//!
//! Invariant: each master gets its events in order and none twice: what a
//! master has not answered is not sent to it again.

use std::sync::{Arc, Mutex, PoisonError};

use halite_proto::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::channel::Patience;
use crate::core::sign_in::chain;
use crate::limits::BEACON_EVENTS_WAITING_MAX;
use crate::state::Minion;

type Receiver = mpsc::Receiver<Vec<Value>>;

pub(super) struct Outbox {
    senders: Vec<mpsc::Sender<Vec<Value>>>,
    receivers: Mutex<Vec<Receiver>>,
    minion: Arc<Minion>,
}

impl Outbox {
    pub(super) fn new(minion: &Arc<Minion>) -> Self {
        let (senders, receivers) = minion
            .masters
            .iter()
            .map(|_| mpsc::channel(BEACON_EVENTS_WAITING_MAX))
            .unzip();
        Self {
            senders,
            receivers: Mutex::new(receivers),
            minion: Arc::clone(minion),
        }
    }

    /// Gives events to each master that is connected.
    pub(super) fn put(&self, minion: &Minion, events: &[Value]) {
        for (master, sender) in minion.masters.iter().zip(&self.senders) {
            if master.is_ready() && sender.try_send(events.to_vec()).is_err() {
                warn!(
                    master = master.name,
                    "events of beacons are dropped: the master is too slow"
                );
            }
        }
    }

    /// Carries the events for as long as the minion runs.
    pub(super) async fn carry(&self) {
        let receivers = std::mem::take(
            &mut *self
                .receivers
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        let carried: JoinSet<()> = receivers
            .into_iter()
            .enumerate()
            .map(|(master, events)| carry_to(Arc::clone(&self.minion), master, events))
            .collect();
        carried.join_all().await;
    }
}

async fn carry_to(minion: Arc<Minion>, master: usize, mut waiting: Receiver) {
    let Some(master) = minion.masters.get(master) else {
        return;
    };
    let patience = Patience {
        tries: 1,
        ..minion.patience
    };
    while let Some(events) = waiting.recv().await {
        let load = Map::from([
            ("id", Value::from(&minion.id)),
            ("cmd", "_minion_event".into()),
            ("pretag", Value::Nil),
            ("events", events.into()),
        ]);
        if let Err(error) = master.channel.request(load, patience).await {
            debug!(
                master = master.name,
                "events of beacons were not taken: {}",
                chain(&error)
            );
        }
    }
}
