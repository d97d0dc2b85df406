//! Who is connected now: what Halite minions say themselves, and for all others
//! Salt's estimate by the addresses in their grains.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::{Map, MinionId, Value};
use halite_transport::fleet::{PresenceEvent, PresenceWatch};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::clock::now_micros;
use crate::core::roster::{Roster, Seat};
use crate::fleet::connected::connected_ids;
use crate::limits::{PRESENCE_SETTLE, ROSTER_SEATS_MAX};
use crate::master::Master;

/// The roster, and word of its changes.
pub(crate) struct Attendance {
    roster: Mutex<Roster>,
    changed: Notify,
    /// When this master began to listen.
    pub(crate) started_micros: u64,
}

impl Attendance {
    /// Nobody has been heard yet.
    pub(crate) fn begin() -> Arc<Self> {
        Arc::new(Self {
            roster: Mutex::new(Roster::new(ROSTER_SEATS_MAX)),
            changed: Notify::new(),
            started_micros: now_micros(),
        })
    }

    /// Follows the publish port's events of presence.
    pub(crate) fn watch(self: &Arc<Self>) -> PresenceWatch {
        let attendance = Arc::clone(self);
        PresenceWatch::new(move |event| {
            let (id, is_here) = match event {
                PresenceEvent::Here(id) => (id, true),
                PresenceEvent::Gone(id) => (id, false),
                PresenceEvent::Silent(id) => {
                    tracing::debug!(minion = %id, "its pulse has stopped");
                    (id, false)
                }
            };
            if attendance.lock().record(&id, is_here, now_micros()) {
                tracing::debug!(minion = %id, is_here, "presence");
                attendance.changed.notify_one();
            }
        })
    }

    /// A minion has signed in that does not speak of its presence.
    pub(crate) fn forget(&self, id: &MinionId) {
        self.lock().forget(id);
    }

    /// What is known of a minion's connection.
    pub(crate) fn seat(&self, id: &MinionId) -> Option<Seat> {
        self.lock().of(id)
    }

    fn lock(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Master {
    /// The accepted minions that are connected, in order.
    pub(crate) fn connected(&self) -> BTreeSet<MinionId> {
        let estimated = connected_ids(&self.data, self.settings.publish_port);
        let accepted = self.accepted.list().into_iter();
        accepted
            .filter(|id| match self.attendance.seat(id) {
                Some(Seat::Here(_)) => true,
                Some(Seat::Away(_)) => false,
                None => estimated.contains(id),
            })
            .collect()
    }

    /// The minions among `ids` that are known to have no connection.
    pub(crate) fn away<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        for_micros: u64,
    ) -> Vec<String> {
        let before = now_micros().saturating_sub(for_micros);
        ids.into_iter()
            .filter(|id| {
                let id = MinionId::parse(*id).ok();
                let seat = id.and_then(|id| self.attendance.seat(&id));
                matches!(seat, Some(Seat::Away(since)) if since <= before)
            })
            .map(str::to_owned)
            .collect()
    }
}

/// Fires the presence events, until it is dropped: who is there each
/// `loop_interval`, changes also when they are heard of.
pub(crate) async fn tell_presence(master: Arc<Master>) {
    let mut before: Option<BTreeSet<MinionId>> = None;
    let mut tick = interval(master.settings.loop_interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_regular = tokio::select! {
            _ = tick.tick() => true,
            () = master.attendance.changed.notified() => {
                // Many come at once when a master starts.
                sleep(PRESENCE_SETTLE).await;
                false
            }
        };
        let Some(now) = present(&master).await else {
            continue;
        };
        // What was known before this master ran is not a change.
        if let Some(before) = &before
            && *before != now
        {
            let new = names(now.difference(before));
            let lost = names(before.difference(&now));
            let data = Map::from([("new", new), ("lost", lost)]);
            master.bus.fire_under("presence", ["change"], data);
        }
        if is_regular {
            let data = Map::from([("present", names(now.iter()))]);
            master.bus.fire_under("presence", ["present"], data);
        }
        before = Some(now);
    }
}

async fn present(master: &Arc<Master>) -> Option<BTreeSet<MinionId>> {
    let master = Arc::clone(master);
    match spawn_blocking(move || master.connected()).await {
        Ok(now) => Some(now),
        Err(error) => {
            tracing::error!("could not see who is connected: {error}");
            None
        }
    }
}

fn names<'a>(ids: impl Iterator<Item = &'a MinionId>) -> Value {
    Value::List(ids.map(Value::from).collect())
}
