//! Checks which masters can be reached.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use futures_util::future::join_all;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Masters, OWN};
use crate::limits::{OTHER_ANSWERS_WITHIN, OTHER_LOOKED_AT_EVERY, OWN_SEEN_WITHIN};

impl Masters {
    /// Begins to look, once this API can be asked itself: it may be in its own list.
    pub(crate) fn begin_looking(self: &Arc<Self>) {
        if self.is_alone() {
            return;
        }
        self.begun_looking.call_once(|| {
            let masters = Arc::clone(self);
            tokio::spawn(async move { masters.look_at_all().await });
        });
    }

    /// Whether the master of this machine can be reached.
    pub(crate) async fn own_is_there(&self) -> bool {
        let away = match timeout(OTHER_ANSWERS_WITHIN, self.own.events()).await {
            Ok(bus) => bus.err().map(|error| error.to_string()),
            Err(_) => Some("its event bus does not accept connections".to_owned()),
        };
        let is_there = away.is_none();
        // It is back for streams once its events are heard again.
        if !is_there || self.own_events.are_heard() {
            self.found(OWN, away);
        }
        let mut seen = self.own_seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Some((Instant::now(), is_there));
        is_there
    }

    /// The result of the last check, if that was recent: requests of strangers cost the
    /// master no more than one check at a time.
    pub(crate) async fn own_was_there(&self) -> bool {
        if let Some(is_there) = self.own_lately() {
            return is_there;
        }
        let _one_at_a_time = self.looking.lock().await;
        match self.own_lately() {
            Some(is_there) => is_there,
            None => self.own_is_there().await,
        }
    }

    fn own_lately(&self) -> Option<bool> {
        let seen = *self.own_seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, is_there) = seen?;
        (at.elapsed() < OWN_SEEN_WITHIN).then_some(is_there)
    }

    async fn look_at_all(&self) {
        let mut every = interval(OTHER_LOOKED_AT_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let others = self
                .others
                .iter()
                .enumerate()
                .map(|(index, other)| async move {
                    let was_self = other.is_self.load(Relaxed);
                    match other.look().await {
                        Some(away) => self.found(index + 1, away),
                        None => {
                            if !was_self {
                                tracing::info!(master = %other.wire.address, "this API itself");
                            }
                            self.health.forget(index + 1);
                        }
                    }
                });
            let own = async {
                self.own_is_there().await;
            };
            tokio::join!(join_all(others), own);
        }
    }
}
