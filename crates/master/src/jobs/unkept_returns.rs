//! Results that wait in memory while the job cache takes nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};
use halite_store::{Saved, StoreError};

use super::Jobs;
use crate::core::unkept_returns::{BytesMax, UnkeptReturn, UnkeptReturns};
use crate::error::chain;
use crate::limits::{
    DRAIN_MAX, UNKEPT_RETURNS_BYTES_MAX, UNKEPT_RETURNS_FAILED_MAX, UNKEPT_RETURNS_OF_MINION_MAX,
    UNKEPT_ROUND,
};

/// Room for what the limits allow.
pub(super) fn unkept_returns() -> Mutex<UnkeptReturns> {
    Mutex::new(UnkeptReturns::new(BytesMax {
        in_all: UNKEPT_RETURNS_BYTES_MAX,
        of_minion: UNKEPT_RETURNS_OF_MINION_MAX,
    }))
}

impl Jobs {
    /// Keeps a result in memory until the job cache accepts it, because its minion does
    /// not send it again. The result may be that of a resource of `minion`.
    pub(crate) fn keep_return_for_later(
        &self,
        jid: &Jid,
        id: &MinionId,
        minion: &MinionId,
        job: &JobReturn,
    ) {
        let (waits, count) = {
            let mut unkept = self.unkept();
            (unkept.add(jid, id, minion, job), unkept.size().0)
        };
        if !waits {
            if self.telemetry.may_log(id.as_str(), "lost return") {
                tracing::error!(
                    minion = %id, %jid,
                    "a result is lost: the job cache refuses it, and too many wait in memory \
                     already"
                );
            }
        } else if count == 1 {
            tracing::warn!(
                "the job cache does not accept results: they are kept in memory until it does"
            );
        }
    }

    /// Stores the results that wait, for a limited time or until the store accepts none.
    pub(crate) fn store_unkept_returns(&self) {
        self.store_unkept_returns_until(Instant::now() + UNKEPT_ROUND);
    }

    fn store_unkept_returns_until(&self, deadline: Instant) {
        let (count, _) = self.unkept_returns();
        let mut failed = 0;
        for _ in 0..count {
            if failed == UNKEPT_RETURNS_FAILED_MAX || Instant::now() > deadline {
                return;
            }
            let Some(unkept) = self.unkept().take() else {
                return;
            };
            match self.store_unkept_return(&unkept) {
                Ok(()) if self.unkept().size().0 == 0 => {
                    tracing::info!(
                        "the job cache has accepted all results that were kept in memory"
                    );
                }
                Ok(()) => failed = 0,
                // It waited for a disk, and is nothing that the cache can hold.
                Err(error) if error.is_of_value() => {
                    let UnkeptReturn { jid, id, .. } = &unkept;
                    tracing::error!(minion = %id, %jid, "a result is lost: {}", chain(&error));
                }
                Err(error) => {
                    failed += 1;
                    let UnkeptReturn { jid, id, .. } = &unkept;
                    if self.telemetry.may_log(id.as_str(), "unkept return") {
                        tracing::error!(
                            minion = %id, %jid,
                            "a result still waits in memory: {}", chain(&error)
                        );
                    }
                    if !self.unkept().put_back(unkept) {
                        tracing::error!(
                            "a result is lost: too many wait in memory for the job cache"
                        );
                    }
                }
            }
        }
    }

    /// Stores them a last time; the master ends.
    pub(crate) fn finish_unkept_returns(&self) {
        let deadline = Instant::now() + DRAIN_MAX;
        loop {
            self.store_unkept_returns_until(deadline);
            let (count, _) = self.unkept().size();
            if count == 0 {
                return;
            }
            if Instant::now() + UNKEPT_ROUND > deadline {
                return tracing::error!(
                    "{count} results are lost: the job cache did not accept them before the master \
                     stopped"
                );
            }
            std::thread::sleep(UNKEPT_ROUND);
        }
    }

    /// How many results wait in memory, and how many bytes they are.
    pub(crate) fn unkept_returns(&self) -> (usize, usize) {
        self.unkept().size()
    }

    fn store_unkept_return(&self, unkept: &UnkeptReturn) -> Result<(), StoreError> {
        let UnkeptReturn { jid, id, .. } = unkept;
        let Some(job) = &unkept.job() else {
            tracing::error!(
                minion = %id, %jid,
                "a result is lost: the packed copy in memory cannot be read"
            );
            return Ok(());
        };
        let saved = self.cache.save_return(jid, id, job)?;
        // Its event was fired when it came.
        self.first_seen_stored(jid, id);
        if saved != Saved::Stored {
            return Ok(());
        }
        self.mirror.returned(jid, id, job);
        if self.settings.stores_endtime {
            let now = self.endtime();
            if let Err(error) = self.cache.save_endtime(jid, &now) {
                tracing::error!(%jid, "could not store the end time of a job: {}", chain(&error));
            }
            self.mirror.ended(jid, &now);
        }
        Ok(())
    }

    fn unkept(&self) -> MutexGuard<'_, UnkeptReturns> {
        self.unkept_returns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
