//! Events that minions fire on the master's bus.

use halite_proto::request::{EventBody, MinionRequest, Request};
use halite_proto::{Map, Value};

use super::{Caller, Handled};
use crate::core::tags::{data_is_anothers, minion_may_fire};
use crate::master::Master;

/// Tag of an error that a minion reports.
const SALT_ERROR: &str = "_salt_error";

/// Fires the events of a request that the minion may fire.
pub(super) fn fire(master: &Master, caller: &Caller, request: &Request) -> Handled {
    let MinionRequest::MinionEvent(event) = &request.command else {
        return Handled::failed();
    };
    match &event.body {
        EventBody::One(one) => {
            let tag = one.tag.as_str();
            if tag == SALT_ERROR {
                log_error(caller, &one.data);
            }
            fire_one(master, caller, tag, request.event_data());
        }
        EventBody::Many(many) => {
            for one in many {
                let Value::Map(data) = &one.data else {
                    tracing::debug!(minion = %caller.id, tag = %one.tag, "an event without a map is dropped");
                    continue;
                };
                if let Some(pretag) = event.pretag.as_deref().filter(|text| !text.is_empty()) {
                    let tag = format!("{pretag}/{}", one.tag);
                    fire_one(master, caller, &tag, data.clone());
                }
                fire_one(master, caller, one.tag.as_str(), data.clone());
            }
        }
    }
    Value::Nil.into()
}

fn fire_one(master: &Master, caller: &Caller, tag: &str, data: Map) {
    if minion_may_fire(&caller.id, tag) && !data_is_anothers(&caller.id, tag, &data) {
        master.bus.fire(tag, data);
    } else if master.may_remark(caller.id.as_str(), "event") {
        tracing::warn!(minion = %caller.id, "dropped the event {tag:?}: it is not the minion's to fire");
    }
}

fn log_error(caller: &Caller, data: &Value) {
    let message = data.get("message").and_then(Value::as_str).unwrap_or("");
    tracing::error!(minion = %caller.id, "the minion reports an error: {}", message.escape_debug());
}
