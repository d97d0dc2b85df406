//! Requests of other programs on this machine over the minion's event bus, Salt's
//! own `salt-call` among them: new grains, a new pillar, events for the masters.
//!
//! Invariant: one request at a time; a flood of them only fills the bus's queue.

use std::sync::Arc;

use halite_call::{ContextError, MinionContext, Refresh};
use halite_proto::{Map, Value};
use tracing::warn;

use crate::context::{JobContext, Route};
use crate::minion::Minion;

const BEACONS_REFRESH: &str = "beacons_refresh";
const FIRE_MASTER: &str = "fire_master";
const GRAINS_REFRESH: &str = "grains_refresh";
const MINE: &str = "_minion_mine";
const MODULE_REFRESH: &str = "module_refresh";
const PILLAR_REFRESH: &str = "pillar_refresh";
const SALT_ERROR: &str = "_salt_error";

/// Does what is asked for as long as the minion runs.
pub(crate) async fn heed(minion: Arc<Minion>) {
    let tags = [
        BEACONS_REFRESH,
        FIRE_MASTER,
        GRAINS_REFRESH,
        MINE,
        MODULE_REFRESH,
        PILLAR_REFRESH,
        SALT_ERROR,
    ];
    let tags = tags.map(str::to_owned).to_vec();
    let mut requests = minion.bus.subscribe_to(tags);
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
            warn!(%cause, "a request from the event bus panicked");
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
        MODULE_REFRESH if data.get("notify").is_some_and(Value::is_true) => {
            context.refresh(Refresh::Modules, None).map(drop)
        }
        FIRE_MASTER => hand_on(context, event_load(data, &context.id())),
        MINE => hand_on(context, Some(mine_load(data, &context.id()))),
        SALT_ERROR => {
            let mut error = data.clone();
            error.remove("_stamp");
            let event = Map::from([("tag", Value::from(tag)), ("data", error.into())]);
            hand_on(context, event_load(&event, &context.id()))
        }
        // A longer tag that begins the same.
        _ => Ok(()),
    };
    if let Err(error) = done {
        warn!(tag, %error, "a request from the event bus failed");
    }
}

/// Sends a request to the masters, if there is one.
fn hand_on(context: &dyn MinionContext, load: Option<Map>) -> Result<(), ContextError> {
    match load {
        Some(load) => context.upstream()?.request_every(load).map(drop),
        None => Ok(()),
    }
}

/// The message to masters for a request about the mine: for this minion only.
fn mine_load(data: &Map, id: &str) -> Map {
    let mut load = Map::from([("cmd", Value::from("_mine")), ("id", id.into())]);
    for name in ["data", "clear"] {
        if let Some(value) = data.get(name) {
            load.insert(name, value.clone());
        }
    }
    load
}

/// The message to masters for a `fire_master` request: one event, or a list of them
/// unchanged. `None` if it has neither.
fn event_load(data: &Map, id: &str) -> Option<Map> {
    let told = |name: &str| data.get(name).filter(|value| value.is_true()).cloned();
    let mut load = Map::from([
        ("id", Value::from(id)),
        ("cmd", "_minion_event".into()),
        ("pretag", data.get("pretag").cloned().unwrap_or_default()),
    ]);
    if let Some(events) = told("events") {
        load.insert("events", events);
    } else {
        let tag = told("tag")?;
        load.insert("data", told("data").unwrap_or_else(|| Map::new().into()));
        load.insert("tag", tag);
    }
    Some(load)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(more: &[(&str, Value)]) -> Map {
        let ours = [
            ("id", Value::from("web1")),
            ("cmd", "_minion_event".into()),
            ("pretag", Value::Nil),
        ];
        ours.into_iter().chain(more.iter().cloned()).collect()
    }

    #[test]
    fn one_event_is_told_with_its_data_or_an_empty_map() {
        let tag = ("tag", Value::from("a/b"));
        let told = |data: Value| event_load(&Map::from([("data", data), tag.clone()]), "web1");
        let wanted = |data: Value| Some(load(&[("data", data), tag.clone()]));
        assert_eq!(told(1.into()), wanted(1.into()));
        assert_eq!(told(Value::Nil), wanted(Map::new().into()));
        assert_eq!(event_load(&Map::new(), "web1"), None);
    }

    #[test]
    fn the_mine_is_the_minions_own() {
        let asked = Map::from([
            ("cmd", Value::from("_return")),
            ("id", "web2".into()),
            ("data", Map::from([("test.ping", true)]).into()),
            ("clear", false.into()),
            ("_stamp", "now".into()),
        ]);
        let wanted = Map::from([
            ("cmd", Value::from("_mine")),
            ("id", "web1".into()),
            ("data", Map::from([("test.ping", true)]).into()),
            ("clear", false.into()),
        ]);
        assert_eq!(mine_load(&asked, "web1"), wanted);
    }

    #[test]
    fn several_go_as_they_are_with_what_stands_in_front_of_their_tags() {
        let one = Value::Map(Map::from([("tag", "a/b")]));
        let events = ("events", Value::List(vec![one]));
        let pretag = ("pretag", Value::from("pre"));
        let asked = Map::from([("tag", Value::Nil), events.clone(), pretag.clone()]);
        assert_eq!(event_load(&asked, "web1"), Some(load(&[events, pretag])));
    }
}
