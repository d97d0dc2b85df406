//! The lease on the duties of one master of a cluster, kept by an arbiter.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_mesh::{Incarnation, PeerId};
use tokio::time::{sleep, timeout};

use super::arbiter::{Arbiter, ArbiterError};
use crate::core::lease::{Lease, Register, Step};
use crate::error::chain;
use crate::limits::{LEASE_ANSWER_MAX, LEASE_EVERY, LEASE_STALE_AFTER};

/// The lease, and the arbiter that keeps it.
pub(crate) struct SharedLease {
    arbiter: Arbiter,
    /// This master, and this life of it.
    own: String,
    lease: Mutex<State>,
}

struct State {
    lease: Lease,
    /// The lease was released, and is not asked for again.
    is_over: bool,
}

impl SharedLease {
    /// Of the master with this name, in this life.
    pub(crate) fn new(arbiter: Arbiter, own: &PeerId, life: Incarnation) -> Self {
        let own = format!("{own} {life}");
        Self {
            arbiter,
            lease: Mutex::new(State {
                lease: Lease::new(own.clone()),
                is_over: false,
            }),
            own,
        }
    }

    /// Whether this master holds it.
    pub(crate) fn is_held(&self) -> bool {
        self.lock().lease.is_held(Instant::now())
    }

    /// The name of the master that does, as far as is known; empty if nobody.
    pub(crate) fn holder(&self) -> String {
        let state = self.lock();
        let name = state.lease.holder(Instant::now()).split(' ').next();
        name.unwrap_or_default().to_owned()
    }

    /// Keeps asking for the lease for as long as it is polled.
    pub(crate) async fn keep(&self) {
        let mut unanswered: Option<Unanswered> = None;
        let mut was_held = false;
        while !self.lock().is_over {
            match self.ask().await {
                Ok(()) => unanswered = None,
                Err(why) => {
                    self.lock().lease.note_failed();
                    let unanswered = unanswered.get_or_insert_default();
                    unanswered.warn_if_stale(self.arbiter.what(), &why);
                }
            }
            let is_held = self.is_held();
            if is_held != was_held {
                was_held = is_held;
                match is_held {
                    true => tracing::info!(
                        "this master now runs the cluster's schedule, engines and presence events"
                    ),
                    false => tracing::info!(
                        "this master no longer runs the cluster's schedule, engines and presence \
                         events"
                    ),
                }
            }
            sleep(LEASE_EVERY).await;
        }
    }

    /// Asks once.
    async fn ask(&self) -> Result<(), String> {
        let asked = Instant::now();
        let step = self.lock().lease.next_step(asked);
        let answered = timeout(LEASE_ANSWER_MAX, self.put(step)).await;
        let answer = answered.map_err(|_| format!("{} does not answer", self.arbiter.what()))?;
        let mut state = self.lock();
        if state.is_over {
            return Ok(());
        }
        match answer.map_err(|error| chain(&error))? {
            Answer::Read(register) => state.lease.note_read(Instant::now(), register),
            Answer::Taken(serial) => state.lease.note_taken(asked, serial),
            Answer::Refused => state.lease.note_refused(),
        }
        Ok(())
    }

    async fn put(&self, step: Step) -> Result<Answer, ArbiterError> {
        Ok(match step {
            Step::Read => Answer::Read(self.arbiter.read().await?),
            Step::Take(register) => {
                let set = self.arbiter.replace(&register, &self.own).await?;
                set.map_or(Answer::Refused, Answer::Taken)
            }
        })
    }

    /// Releases the lease, so that another master can take it at once. This one does not
    /// ask for it again.
    pub(crate) async fn give_up(&self) {
        let own = {
            let mut state = self.lock();
            state.is_over = true;
            state.lease.give_up()
        };
        if let Some(own) = own {
            // Unheard, it is taken over as after a kill.
            let _ = timeout(LEASE_ANSWER_MAX, self.arbiter.replace(&own, "")).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Answer {
    Read(Register),
    Taken(u64),
    Refused,
}

/// Questions that were not answered, one after the other.
struct Unanswered {
    since: Instant,
    was_said: bool,
}

impl Default for Unanswered {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            was_said: false,
        }
    }
}

impl Unanswered {
    /// Logs once that it has been unknown for long who holds the lease.
    fn warn_if_stale(&mut self, arbiter: &str, why: &str) {
        if !self.was_said && self.since.elapsed() >= LEASE_STALE_AFTER {
            self.was_said = true;
            tracing::warn!(
                "the masters' schedule, engines and presence events are paused until {arbiter} \
                 decides which master runs them: {why}"
            );
        }
    }
}
