//! `presence_events`: which minions are connected, on the event bus.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use halite_proto::{Map, MinionId, Value};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::Fleet;
use crate::cluster::Cluster;
use crate::events::bus::Bus;
use crate::limits::PRESENCE_SETTLE;

/// Fires the presence events until it is dropped: the connected minions in the interval
/// `every`, and changes at once. In a cluster one master fires them and passes them to
/// the others.
pub(crate) async fn fire_presence(
    fleet: Arc<Fleet>,
    bus: Arc<Bus>,
    every: Duration,
    cluster: Option<Arc<Cluster>>,
) {
    let mut before: Option<BTreeSet<MinionId>> = None;
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_regular = tokio::select! {
            _ = tick.tick() => true,
            () = fleet.attendance.changed() => {
                // Many come at once when a master starts.
                sleep(PRESENCE_SETTLE).await;
                false
            }
        };
        let Some(now) = connected(&fleet).await else {
            continue;
        };
        if cluster.as_ref().is_some_and(|cluster| !cluster.leads()) {
            before = Some(now);
            continue;
        }
        // What was known before this master ran is not a change.
        if let Some(before) = &before
            && *before != now
        {
            let new = names(now.difference(before));
            let lost = names(before.difference(&now));
            let data = Map::from([("new", new), ("lost", lost)]);
            bus.fire_under("presence", ["change"], data);
        }
        if is_regular {
            let data = Map::from([("present", names(now.iter()))]);
            bus.fire_under("presence", ["present"], data);
        }
        before = Some(now);
    }
}

async fn connected(fleet: &Arc<Fleet>) -> Option<BTreeSet<MinionId>> {
    let fleet = Arc::clone(fleet);
    match spawn_blocking(move || fleet.connected()).await {
        Ok(now) => Some(now),
        Err(error) => {
            tracing::error!("could not list the connected minions: {error}");
            None
        }
    }
}

fn names<'a>(ids: impl Iterator<Item = &'a MinionId>) -> Value {
    Value::List(ids.map(Value::from).collect())
}
