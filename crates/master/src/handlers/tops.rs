//! What the master's tops assign to a minion.

use std::sync::Arc;

use halite_proto::Value;
use tokio::sync::oneshot;

use super::{Caller, Handled};
use crate::core::gate::Cause;
use crate::master::Master;
use crate::pillar::tops;

/// Asks the tops on a thread for pillars: both wait for commands.
pub(super) fn tops(master: &Arc<Master>, caller: &Caller) -> Handled {
    if master.settings.tops.is_empty() {
        return Handled::nothing();
    }
    let Some(turn) = master.turns.pillars.take(&caller.id) else {
        master.complain(Cause::Overload, Some(&caller.id));
        return Handled::nothing();
    };
    let (tell, told) = oneshot::channel();
    let work = {
        let (master, id) = (Arc::clone(master), caller.id.clone());
        move || {
            let _turn = turn;
            // Nobody waits any more when the daemon stops.
            let _ = tell.send(tops::of(&master, &id));
        }
    };
    if master.pillars.submit(work).is_err() {
        master.complain(Cause::Overload, Some(&caller.id));
    }
    Handled::Later(Box::pin(async move {
        Value::Map(told.await.unwrap_or_default())
    }))
}
