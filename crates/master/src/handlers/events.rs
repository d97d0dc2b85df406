//! Events that minions fire on the master's bus.

use halite_proto::request::{EventBody, MinionRequest, Request};
use halite_proto::{Map, MinionId, Value};

use super::{Caller, Handled};
use crate::core::tags::{data_is_anothers, minion_may_fire};
use crate::events::minion_events::MinionEvents;
use crate::keys::Keys;
use crate::limits::REPORTED_CHARS_MAX;

/// Tag of an error that a minion reports.
const SALT_ERROR: &str = "_salt_error";

/// The parts of the master that events go through.
#[derive(Clone, Copy)]
pub(super) struct Firing<'a> {
    pub(super) fired: &'a MinionEvents,
    pub(super) keys: &'a Keys,
}

/// Fires the events of a request that the minion may fire.
pub(super) fn fire(parts: Firing<'_>, caller: &Caller, request: &Request) -> Handled {
    let MinionRequest::MinionEvent(event) = &request.command else {
        return Handled::failed();
    };
    match &event.body {
        EventBody::One(one) => {
            let tag = one.tag.as_str();
            if tag == SALT_ERROR {
                log_error(caller, &one.data);
            }
            fire_one(parts, caller, tag, request.event_data());
        }
        EventBody::Many(many) => {
            if let Some(batches) = &event.batches
                && !parts.fired.first_seen(&caller.id, batches)
            {
                tracing::debug!(minion = %caller.id, "events that were fired already");
                return Value::Nil.into();
            }
            let prefix = event.prefix();
            for one in many {
                let Value::Map(data) = &one.data else {
                    tracing::debug!(
                        minion = %caller.id, tag = %one.tag,
                        "dropped an event whose data is not a map"
                    );
                    continue;
                };
                if let Some(prefix) = &prefix {
                    let tag = [prefix.as_str(), one.tag.as_str()].join("/");
                    fire_one(parts, caller, tag.trim_start_matches('/'), data.clone());
                }
                fire_one(parts, caller, one.tag.as_str(), data.clone());
            }
        }
    }
    Value::Nil.into()
}

fn fire_one(parts: Firing<'_>, caller: &Caller, tag: &str, data: Map) {
    let accepted = &parts.keys.accepted;
    let is_minion = |name: &str| MinionId::parse(name).is_ok_and(|id| accepted.get(&id).is_some());
    let may_fire = minion_may_fire(&caller.id, tag, is_minion);
    if may_fire && !data_is_anothers(&caller.id, tag, &data) {
        parts.fired.bus.fire(tag, data);
    } else if caller.may_log("event") {
        tracing::warn!(
            minion = %caller.id,
            "dropped the event {tag:?}: the minion may not fire it"
        );
    }
}

fn log_error(caller: &Caller, data: &Value) {
    if !caller.may_log("error") {
        return;
    }
    let message = data.get("message").and_then(Value::as_str).unwrap_or("");
    let message: String = message.chars().take(REPORTED_CHARS_MAX).collect();
    tracing::error!(minion = %caller.id, "the minion reports an error: {message:?}");
}
