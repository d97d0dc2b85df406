//! Jobs in batches of masters of the cluster that are away.

use std::sync::Arc;

use halite_proto::{Jid, Map, Value};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::plan;
use crate::batches::{Batches, start};
use crate::error::chain;
use crate::limits::LOST_WORK_EVERY;
use crate::under_way::UnderWay;

/// Continues the batches of dead masters that fall to this one, and announces the ends of
/// their runners, until it is dropped.
pub(super) async fn take_over_lost(batches: Arc<Batches>) {
    let Some(under_way) = batches.under_way.clone() else {
        return;
    };
    let leaves = Arc::downgrade(&batches);
    under_way.on_yield(Box::new(move |jid| {
        if let Some(batches) = leaves.upgrade() {
            batches.leave(jid);
        }
    }));
    let mut every = interval(LOST_WORK_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let (batches, under_way) = (Arc::clone(&batches), Arc::clone(&under_way));
        let taken = spawn_blocking(move || {
            for (jid, state) in under_way.take_lost() {
                go_on(&batches, &under_way, &jid, state);
            }
        });
        if let Err(error) = taken.await {
            tracing::error!("could not look for unfinished work of other masters: {error}");
        }
    }
}

fn go_on(batches: &Arc<Batches>, under_way: &UnderWay, jid: &Jid, state: Map) {
    // From now on it is this master's for all others.
    under_way.batch_begins(jid, &state);
    let why = match plan(jid, state.clone(), f64::INFINITY) {
        Some(plan) => match start(batches, plan) {
            Ok(_) => return,
            Err(error) => chain(&error),
        },
        None => "its stored state is invalid".to_owned(),
    };
    tracing::error!(%jid, "could not continue a batch of another master: {why}");
    let known = |name: &str| state.get(name).cloned().unwrap_or_default();
    let told = ["fun", "tgt", "tgt_type", "user"].map(|name| (name, known(name)));
    let mut told = Map::from(told);
    told.insert("jid", jid);
    told.insert("reason", "error");
    told.insert("abandoned_active", names(known("active")));
    told.insert("abandoned_pending", known("pending"));
    batches.bus.fire(&format!("salt/batch/{jid}/halted"), told);
    under_way.ended(jid);
}

fn names(active: Value) -> Value {
    let active = active.as_map().map(|map| map.keys().cloned().collect());
    Value::List(active.unwrap_or_default())
}
