//! The schedule and the beacons as the functions of jobs reach them.

use std::sync::Arc;

use halite_proto::Map;

/// The tag and the data of an answer, or the reason why there is none.
pub(crate) type Answer = Result<(&'static str, Map), String>;

/// The tag of requests to the schedule on the minion's event bus.
pub(crate) const SCHEDULE_REQUESTS: &str = "manage_schedule";

/// The tag of requests to the beacons on the minion's event bus.
pub(crate) const BEACON_REQUESTS: &str = "manage_beacons";

/// A part of the running minion that requests change: each function of Salt's
/// modules `schedule` and `beacons` is such a request.
pub trait Managed: Send + Sync {
    /// Carries out a request, and answers it. May block.
    ///
    /// # Errors
    /// When there is no such function; the text says so.
    fn manage(self: Arc<Self>, request: &Map) -> Result<(&'static str, Map), String>;
}

/// The beacons.
pub trait ManagedBeacons: Managed {
    /// Puts all beacons down: the next look begins anew.
    fn forget(&self);
}
