//! The end of a runner whose master is away, or was killed while it ran.

use halite_proto::msgpack::pack_modern;
use halite_proto::{Jid, Map, MinionId, Value};

use crate::core::owner::{PROVEN_BY, ProvenBy};
use crate::error::chain;
use crate::events::bus::Bus;
use crate::jobs::Jobs;
use crate::limits::RUNNER_TOLD_BYTES_MAX;

/// The `id` of the master that runs it.
const ID: &str = "halite_id";

/// Whether the job cache keeps what it returns.
const IS_KEPT: &str = "halite_is_kept";

/// The announcement of a starting runner to the other masters.
pub(super) fn announcement(data: &Map, id: &str, is_kept: bool, by: Option<&ProvenBy>) -> Map {
    let mut told = data.clone();
    let bytes = pack_modern(&Value::from(data.clone())).map_or(usize::MAX, |it| it.len());
    if bytes > RUNNER_TOLD_BYTES_MAX {
        told.insert("fun_args", Value::List(Vec::new()));
    }
    told.insert(ID, id);
    told.insert(IS_KEPT, is_kept);
    if let Some(by) = by {
        told.insert(PROVEN_BY, by.to_string());
    }
    told
}

/// The return of a runner whose master has died; `None` if the runner has returned after
/// all. Waits for the job cache.
pub(crate) fn lost_return(jobs: &Jobs, jid: &Jid, mut data: Map, why: &str) -> Option<Map> {
    match jobs.cache.returns(jid) {
        Ok(returns) if !returns.is_empty() => return None,
        Ok(_) => {}
        Err(error) => tracing::error!(%jid, "could not read a return: {}", chain(&error)),
    }
    let fun = data.get("fun").and_then(Value::as_str).unwrap_or_default();
    let name = fun.strip_prefix("runner.").unwrap_or(fun);
    tracing::warn!(%jid, "the runner {name} is lost: {why}");
    let text = format!(
        "Exception occurred in runner {name}: {why}; what it did before that remains done, and it \
         is not started again"
    );
    data.insert("return", text);
    data.insert("retcode", 1);
    data.insert("success", false);
    Some(data)
}

/// Stores the end of a runner of another master, and announces it on this one. A return
/// that exists already is kept.
pub(super) fn end(jobs: &Jobs, bus: &Bus, master: &str, jid: &Jid, mut data: Map) {
    let id = data.remove(ID).unwrap_or_default();
    let id = id.as_str().and_then(|id| MinionId::parse(id).ok());
    let is_kept = data
        .remove(IS_KEPT)
        .is_some_and(|is_kept| is_kept.is_true());
    let by = data.remove(PROVEN_BY);
    let why = format!("the master {master} that ran it cannot be reached");
    let Some(data) = lost_return(jobs, jid, data, &why) else {
        return;
    };
    if let Some(id) = id.filter(|_| is_kept) {
        jobs.keep_lost_runner(jid, &id, by, &data);
    }
    // Each master tells of it by itself.
    bus.fire_here(&format!("salt/run/{jid}/ret"), data, master);
}
