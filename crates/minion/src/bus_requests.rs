//! What other programs on this machine ask of the minion over its event bus,
//! Salt's own `salt-call` among them: new grains, a new pillar, events for the
//! masters.
//!
//! Invariant: one request at a time; a flood of them costs the bus's queue.

use std::sync::Arc;

use halite_modules::{MinionContext, Refresh};
use halite_proto::{Map, Value};
use tracing::{debug, warn};

use crate::context::{JobContext, Route};
use crate::state::Minion;

const BEACONS_REFRESH: &str = "beacons_refresh";
const FIRE_MASTER: &str = "fire_master";
const GRAINS_REFRESH: &str = "grains_refresh";
const PILLAR_REFRESH: &str = "pillar_refresh";

/// Does what is asked for as long as the minion runs.
pub(crate) async fn heed(minion: Arc<Minion>) {
    let tags = [BEACONS_REFRESH, FIRE_MASTER, GRAINS_REFRESH, PILLAR_REFRESH].map(str::to_owned);
    let mut requests = minion.bus.subscribe_to(tags.to_vec());
    while let Some(request) = requests.recv().await {
        let Ok(event) = request.unpack() else {
            continue;
        };
        let minion = Arc::clone(&minion);
        let tag = request.tag().to_owned();
        // Requests to masters are waited for on another thread.
        let done = tokio::task::spawn_blocking(move || {
            let context = JobContext::new(minion, Route::Any);
            carry_out(&context, &tag, &event.data);
        });
        if let Err(cause) = done.await {
            warn!(%cause, "a request over the event bus died");
        }
    }
}

fn carry_out(context: &dyn MinionContext, tag: &str, data: &Map) {
    let clean_cache = data.get("clean_cache").is_none_or(Value::is_true);
    let done = match tag {
        BEACONS_REFRESH => context.refresh(Refresh::Beacons, None).map(drop),
        GRAINS_REFRESH => context.refresh(Refresh::Grains, None).map(drop),
        PILLAR_REFRESH => {
            let what = Refresh::Pillar { clean_cache };
            context.refresh(what, None).map(drop)
        }
        FIRE_MASTER => {
            for (tag, data) in events_of(data) {
                if let Err(error) = context.fire_master(&tag, data) {
                    warn!(tag, %error, "an event was not sent");
                }
            }
            Ok(())
        }
        // A longer tag that begins the same.
        _ => Ok(()),
    };
    if let Err(error) = done {
        debug!(tag, %error, "a request over the event bus");
    }
}

/// The events of a `fire_master` request: one, or a list of them.
fn events_of(data: &Map) -> Vec<(String, Value)> {
    let event = |map: &Map| {
        let tag = map.get("tag")?.as_str()?.to_owned();
        Some((tag, map.get("data").cloned().unwrap_or(Value::Nil)))
    };
    match data.get("events") {
        Some(Value::List(events)) => {
            let maps = events.iter().filter_map(Value::as_map);
            maps.filter_map(event).collect()
        }
        _ => event(data).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_or_several_are_read() {
        let one = Map::from([("tag", Value::from("a/b")), ("data", 1.into())]);
        assert_eq!(events_of(&one), [("a/b".to_owned(), 1.into())]);
        let two = vec![Value::Map(one.clone()), Value::Map(one), Value::Nil];
        let several = Map::from([("events", Value::List(two)), ("tag", Value::Nil)]);
        assert_eq!(events_of(&several).len(), 2);
        assert_eq!(events_of(&Map::new()), []);
    }
}
