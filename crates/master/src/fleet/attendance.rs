//! Who is connected now, as Halite minions say themselves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_proto::MinionId;
use halite_transport::fleet::{PresenceEvent, PresenceWatch};
use tokio::sync::Notify;

use crate::clock::now_micros;
use crate::core::roster::{Roster, Seat};
use crate::limits::ROSTER_SEATS_MAX;

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

    /// Waits until a minion comes or goes.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
