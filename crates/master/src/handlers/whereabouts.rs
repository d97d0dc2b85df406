//! Results of this master's jobs that a minion has given to another master.

use std::sync::PoisonError;

use halite_proto::request::Whereabouts;

use super::{Caller, Handled};
use crate::master::Master;

/// Remembers where they are: the job is done, and whoever waits for it here is
/// told where to look.
pub(super) fn note(master: &Master, caller: &Caller, results: Vec<Whereabouts>) -> Handled {
    let id = &caller.id;
    let elsewhere = &master.elsewhere;
    let mut elsewhere = elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
    for Whereabouts { jid, master: at } in results {
        tracing::info!(minion = %id, %jid, at, "the result is at another master");
        master.missed.returned(&jid, id);
        elsewhere.note(jid, id.clone(), &at);
    }
    true.into()
}
