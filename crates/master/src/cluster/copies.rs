//! Makes a second master keep each return before its minion is answered.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_mesh::{Incarnation, PeerId};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};
use tokio::sync::Semaphore;

use super::Cluster;
use super::fired_return::FiredReturn;
use super::message::Message;
use crate::core::copies::{ReturnsTold, Stalled};
use crate::limits::{
    RETURN_COPIED_MAX, RETURN_COPIES_WAITING_MAX, RETURN_STALL_PAUSE, RETURNS_TOLD_MAX,
};

/// Ends when a peer has a return, or is waited for no longer.
pub(crate) type Copied = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The result of sending a return to the peers.
#[derive(Default)]
pub(crate) struct CopiesSent {
    /// What the return's minion must wait for, if anything.
    pub(crate) copied: Option<Copied>,
    /// Whether the peers fire the event of the return, too.
    pub(crate) is_fired: bool,
}

/// The state of the copies of returns.
pub(super) struct Copies {
    told: Mutex<ReturnsTold>,
    stalled: Mutex<Stalled>,
    waiting: Arc<Semaphore>,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            told: Mutex::new(ReturnsTold::new(RETURNS_TOLD_MAX)),
            stalled: Mutex::default(),
            waiting: Arc::new(Semaphore::new(RETURN_COPIES_WAITING_MAX)),
        }
    }
}

impl Copies {
    fn returns_told(&self) -> MutexGuard<'_, ReturnsTold> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stalled(&self) -> MutexGuard<'_, Stalled> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The peers have not acknowledged in time.
    fn note_stalled(&self, peers: Vec<(PeerId, Incarnation)>) {
        let is_new = self
            .stalled()
            .record(Instant::now(), peers, RETURN_STALL_PAUSE);
        if is_new {
            tracing::warn!(
                "no peer has acknowledged a return within {RETURN_COPIED_MAX:?}: for the next \
                 {RETURN_STALL_PAUSE:?} returns are acknowledged with this master's copy only"
            );
        }
    }
}

impl Cluster {
    /// Sends a return that is stored here to the peers, once. A return that comes again
    /// (`is_again`) is sent again only if it may not have reached a peer. `fired` is the
    /// whole packed data of its event, which the peers then fire; without it the event is
    /// sent to them by itself.
    pub(crate) fn tell_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        job: &JobReturn,
        fired: Option<&[u8]>,
        is_again: bool,
    ) -> CopiesSent {
        if self.shares_cache() {
            return CopiesSent::default();
        }
        let is_copied = self.copies_returns();
        if is_again && !is_copied {
            return CopiesSent::default();
        }
        let earlier = is_again.then(|| self.copies.returns_told().number(jid, id));
        let (number, is_fired) = match earlier.flatten() {
            Some(number) if !number.is_some_and(|number| self.mesh.is_skipped(number)) => {
                (number, false)
            }
            // It was stored in an earlier life, or the peers were away for long.
            _ => {
                let number = match fired {
                    Some(fired) => self.tell_packed(FiredReturn::pack(id, fired)),
                    None => self.tell(&Message::Return(id.clone(), Box::new(job.clone()))),
                };
                self.copies.returns_told().record(jid, id, number);
                if number.is_none() {
                    tracing::warn!(minion = %id, %jid, "the return is stored on this master only");
                }
                (number, fired.is_some() && number.is_some())
            }
        };
        let waits = number.filter(|number| is_copied && !self.mesh.is_copied(*number));
        CopiesSent {
            copied: waits.and_then(|number| self.copied(number)),
            is_fired,
        }
    }

    /// Waits until a peer has acknowledged a message, none is connected, or it takes too
    /// long.
    fn copied(&self, number: u64) -> Option<Copied> {
        let living = self.living();
        if self.copies.stalled().is_stalled(Instant::now(), &living) {
            return None;
        }
        let Ok(place) = Arc::clone(&self.copies.waiting).try_acquire_owned() else {
            self.copies.note_stalled(living);
            return None;
        };
        let (mesh, copies) = (self.mesh.clone(), Arc::clone(&self.copies));
        Some(Box::pin(async move {
            let is_copied = mesh.copied(number, RETURN_COPIED_MAX).await;
            drop(place);
            if !is_copied && mesh.peers().iter().any(|peer| peer.dialled.is_some()) {
                copies.note_stalled(living);
            }
        }))
    }

    /// Whether a return is acknowledged to its minion only once a peer has it too: if
    /// there is a peer, and it does not read the same files.
    fn copies_returns(&self) -> bool {
        self.settings.copies_returns && !self.shares_cache() && !self.living().is_empty()
    }
}
