//! The states that the master's tops assign to a minion.

use std::sync::Arc;

use halite_proto::Value;
use tokio::sync::oneshot;

use super::{Caller, Handled};
use crate::core::gate::Cause;
use crate::fleet::Fleet;
use crate::functions::Functions;
use crate::pillar::pillars::Pillars;

/// Asks the tops on a thread for pillars: both wait for commands.
pub(super) fn tops(
    pillars: &Pillars,
    functions: &Arc<Functions>,
    fleet: &Arc<Fleet>,
    caller: &Caller,
) -> Handled {
    if pillars.tops.is_empty() {
        return Handled::nothing();
    }
    let Some(turn) = pillars.turns.take(&caller.id) else {
        caller
            .telemetry
            .count_refusal(Cause::Overload, Some(&caller.id));
        return Handled::nothing();
    };
    let (tell, told) = oneshot::channel();
    let work = {
        let (functions, fleet) = (Arc::clone(functions), Arc::clone(fleet));
        let (tops, id) = (pillars.tops.clone(), caller.id.clone());
        move || {
            let _turn = turn;
            // Nobody waits any more when the daemon stops.
            let _ = tell.send(tops.states_of(&id, &functions, &fleet));
        }
    };
    if pillars.submit(work).is_err() {
        caller
            .telemetry
            .count_refusal(Cause::Overload, Some(&caller.id));
    }
    Handled::Later(Box::pin(async move {
        Value::Map(told.await.unwrap_or_default())
    }))
}
