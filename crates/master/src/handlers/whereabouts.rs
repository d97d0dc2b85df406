//! Results of this master's jobs that a minion has given to another master.

use halite_proto::request::Whereabouts;

use super::{Caller, Handled};
use crate::jobs::Jobs;

/// Records which master has each result: the job is done for that minion, and programs
/// that wait for it here are told where to look.
pub(super) fn record(jobs: &Jobs, caller: &Caller, results: Vec<Whereabouts>) -> Handled {
    let id = &caller.id;
    for Whereabouts { jid, master } in results {
        tracing::info!(minion = %id, %jid, at = master, "the result is stored at another master");
        jobs.missed.returned(&jid, id);
        jobs.record_held_by_other(jid, id.clone(), &master);
    }
    true.into()
}
