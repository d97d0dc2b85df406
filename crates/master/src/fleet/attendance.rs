//! Who is connected now: what Halite minions say themselves, and for all others
//! Salt's estimate by the addresses in their grains.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::capabilities::{minion_of_pulse, minion_of_topic};
use halite_proto::{Map, MinionId, Value};
use halite_transport::zeromq::{Heard, TopicWatch};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::clock::now_micros;
use crate::core::roster::{PULSE_CHECK, Roster, Seat};
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

    /// What the publish port tells of its topics, and what minions say there.
    pub(crate) fn watch(self: &Arc<Self>) -> TopicWatch {
        let attendance = Arc::clone(self);
        TopicWatch::new(move |heard| match heard {
            Heard::Begun(topic) => attendance.topic(topic, true),
            Heard::Ended(topic) => attendance.topic(topic, false),
            Heard::Said(message) => attendance.pulse(message),
        })
    }

    fn topic(&self, topic: &[u8], is_here: bool) {
        if let Some(id) = minion_of_topic(topic) {
            self.heard(id, is_here);
        }
    }

    fn pulse(&self, message: &[u8]) {
        let Some(id) = minion_of_pulse(message) else {
            return;
        };
        if self.lock().pulse(id.clone(), Instant::now(), now_micros()) {
            tracing::debug!(minion = %id, "its pulse is there");
            self.changed.notify_one();
        }
    }

    /// Looks for pulses that have stopped, until it is dropped.
    pub(crate) async fn follow_pulses(self: Arc<Self>) {
        let mut tick = interval(PULSE_CHECK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let silent = self.lock().check_pulses(Instant::now(), now_micros());
            if silent.is_empty() {
                continue;
            }
            for id in silent {
                tracing::debug!(minion = %id, "its pulse has stopped");
            }
            self.changed.notify_one();
        }
    }

    fn heard(&self, id: MinionId, is_here: bool) {
        if self.lock().heard(id.clone(), is_here, now_micros()) {
            tracing::debug!(minion = %id, is_here, "presence");
            self.changed.notify_one();
        }
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
