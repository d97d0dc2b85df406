//! The last highstate of each minion, as this master has heard of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use halite_proto::MinionId;
use halite_proto::returns::JobReturn;

use crate::clock::now_s;
use crate::core::highstates::{Highstate, LastHighstates, Outcome, is_highstate, is_test};
use crate::limits::HIGHSTATES_KEPT_MAX;

/// Which master a return came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReturnedTo {
    /// This one.
    Own,
    /// Another one of its cluster.
    Peer,
}

/// The last highstates since this master has started.
pub(crate) struct Highstates(Mutex<LastHighstates>);

impl Highstates {
    /// Nothing heard yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LastHighstates::new(HIGHSTATES_KEPT_MAX)))
    }

    /// A minion has returned a job; if it was a highstate, it is remembered.
    pub(crate) fn returned(&self, id: &MinionId, job: &JobReturn, to: ReturnedTo) {
        let ([fun], Some(jid)) = (job.fun.names(), job.jid.jid()) else {
            return;
        };
        if !is_highstate(fun, &job.fun_args) {
            return;
        }
        let highstate = Highstate {
            jid: jid.clone(),
            is_test: is_test(&job.fun_args),
            outcome: Outcome::of(Some(&job.ret), Some(job.success)),
        };
        let is_own = to == ReturnedTo::Own;
        self.lock().record(id, now_s(), highstate, is_own);
    }

    /// The last highstates, which returns of highstates wait for.
    pub(crate) fn lock(&self) -> MutexGuard<'_, LastHighstates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
