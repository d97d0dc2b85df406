//! Events that minions fire on the master's bus.

use std::sync::PoisonError;

use halite_proto::request::{Batches, EventBody, MinionRequest, Request};
use halite_proto::{Map, Value};

use super::{Caller, Handled};
use crate::core::tags::{data_is_anothers, minion_may_fire};
use crate::limits::REPORTED_CHARS_MAX;
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
                log_error(master, caller, &one.data);
            }
            fire_one(master, caller, tag, request.event_data());
        }
        EventBody::Many(many) => {
            if let Some(batches) = &event.batches
                && !is_news(master, caller, batches)
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
                    fire_one(master, caller, tag.trim_start_matches('/'), data.clone());
                }
                fire_one(master, caller, one.tag.as_str(), data.clone());
            }
        }
    }
    Value::Nil.into()
}

/// Whether these events were not fired before: the answer may have been lost.
fn is_news(master: &Master, caller: &Caller, batches: &Batches) -> bool {
    let mut heard = master.heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.is_news(&caller.id, batches)
}

fn fire_one(master: &Master, caller: &Caller, tag: &str, data: Map) {
    if minion_may_fire(&caller.id, tag) && !data_is_anothers(&caller.id, tag, &data) {
        master.bus.fire(tag, data);
    } else if master.may_remark(caller.id.as_str(), "event") {
        tracing::warn!(minion = %caller.id, "dropped the event {tag:?}: it is not the minion's to fire");
    }
}

fn log_error(master: &Master, caller: &Caller, data: &Value) {
    if !master.may_remark(caller.id.as_str(), "error") {
        return;
    }
    let message = data.get("message").and_then(Value::as_str).unwrap_or("");
    let message: String = message.chars().take(REPORTED_CHARS_MAX).collect();
    tracing::error!(minion = %caller.id, "the minion reports an error: {message:?}");
}
