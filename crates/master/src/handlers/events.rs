//! Events that minions fire on the master's bus.

use halite_proto::request::{EventBody, MinionRequest, Request};
use halite_proto::{Map, Value};

use super::{Caller, Handled};
use crate::core::tags::{data_is_anothers, minion_may_fire};
use crate::events::bus::Bus;
use crate::events::minion_events::MinionEvents;
use crate::limits::REPORTED_CHARS_MAX;

/// Tag of an error that a minion reports.
const SALT_ERROR: &str = "_salt_error";

/// Fires the events of a request that the minion may fire.
pub(super) fn fire(fired: &MinionEvents, caller: &Caller, request: &Request) -> Handled {
    let MinionRequest::MinionEvent(event) = &request.command else {
        return Handled::failed();
    };
    let bus = &*fired.bus;
    match &event.body {
        EventBody::One(one) => {
            let tag = one.tag.as_str();
            if tag == SALT_ERROR {
                log_error(caller, &one.data);
            }
            fire_one(bus, caller, tag, request.event_data());
        }
        EventBody::Many(many) => {
            if let Some(batches) = &event.batches
                && !fired.first_seen(&caller.id, batches)
            {
                tracing::debug!(minion = %caller.id, "events that were fired already");
                return Value::Nil.into();
            }
            let prefix = event.prefix();
            for one in many {
                let Value::Map(data) = &one.data else {
                    tracing::debug!(minion = %caller.id, tag = %one.tag, "an event without a map is dropped");
                    continue;
                };
                if let Some(prefix) = &prefix {
                    let tag = [prefix.as_str(), one.tag.as_str()].join("/");
                    fire_one(bus, caller, tag.trim_start_matches('/'), data.clone());
                }
                fire_one(bus, caller, one.tag.as_str(), data.clone());
            }
        }
    }
    Value::Nil.into()
}

fn fire_one(bus: &Bus, caller: &Caller, tag: &str, data: Map) {
    if minion_may_fire(&caller.id, tag) && !data_is_anothers(&caller.id, tag, &data) {
        bus.fire(tag, data);
    } else if caller.may_log("event") {
        tracing::warn!(minion = %caller.id, "dropped the event {tag:?}: it is not the minion's to fire");
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
