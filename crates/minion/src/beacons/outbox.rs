//! The events of beacons on their way to the masters.
//!
//! Invariant: an event is removed only when the masters that were connected have
//! acknowledged it, or another one if those are gone, or when a limit drops it; a
//! Halite master fires it once in its life.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use halite_crypto::random_bytes;
use halite_proto::request::Batches;
use halite_proto::{Map, Nonce, Value};
use halite_transport::fleet::RequestError;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{debug, error, info};

use crate::core::beacons::{Bounds, Failure, Parcel, Untold, Waiting};
use crate::core::link::Phase;
use crate::core::sign_in::chain;
use crate::limits::{BEACON_EVENT_BYTES_MAX, BEACON_REQUEST_BYTES_MAX, DOUBT_LASTS, SPOOL_AGE_MAX};
use crate::link::channel::{ChannelError, Patience};
use crate::minion::{Master, Minion};

pub(super) struct Outbox {
    minion: Arc<Minion>,
    waiting: Mutex<Waiting>,
    /// Told whenever somebody may have something to carry, or has carried it.
    changed: Notify,
    started: Instant,
    /// What masters know our numbers by.
    process: Nonce,
}

impl Outbox {
    pub(super) fn new(minion: &Arc<Minion>) -> Arc<Self> {
        let age = minion.opt_seconds("return_spool_age", SPOOL_AGE_MAX.as_secs_f64());
        let bounds = Bounds {
            bytes_max: BEACON_EVENT_BYTES_MAX,
            age_max: age,
            request_bytes_max: BEACON_REQUEST_BYTES_MAX,
            tries_max: minion.patience.tries.max(1),
        };
        Arc::new(Self {
            minion: Arc::clone(minion),
            waiting: Mutex::new(Waiting::new(bounds, minion.masters.len())),
            changed: Notify::new(),
            started: Instant::now(),
            process: Nonce::from_random(random_bytes()),
        })
    }

    /// Sends events to each connected master, and to a cluster of them once; if none is
    /// connected, they wait for the first.
    pub(super) fn put(&self, events: &[Value]) {
        if self.minion.masters.is_empty() {
            return;
        }
        let there = self.minion.one_of_each_cluster(self.ready());
        let there: BTreeSet<usize> = there.collect();
        {
            let mut waiting = self.waiting();
            if there.is_empty() && !waiting.has_untold() {
                info!("no master can be reached: keeping the events of beacons");
            }
            if let Err(error) = waiting.put(self.started.elapsed(), events, there) {
                error!("could not queue an event of a beacon: {}", chain(&error));
            }
            say_what_was_dropped(&mut waiting);
        }
        self.changed.notify_waiters();
    }

    /// Logs what is lost when the process ends now.
    pub(super) fn say_what_is_lost(&self) {
        let Untold { surely, perhaps } = self.waiting().untold();
        if surely > 0 {
            error!(
                events = surely,
                "events of beacons are lost: no master has received them"
            );
        }
        if perhaps > 0 {
            error!(
                events = perhaps,
                "events of beacons may be lost: no master has confirmed them"
            );
        }
    }

    /// Carries the events for as long as the minion runs.
    pub(super) async fn carry(self: &Arc<Self>) {
        let carried: JoinSet<()> = (0..self.minion.masters.len())
            .map(|master| Arc::clone(self).carry_to(master))
            .collect();
        carried.join_all().await;
    }

    /// Waits until no master that is there is owed anything.
    pub(super) async fn until_carried(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let ready = self.ready();
            if !self.waiting().is_busy(&ready) {
                return;
            }
            changed.await;
        }
    }

    fn ready(&self) -> BTreeSet<usize> {
        let masters = self.minion.masters.iter().enumerate();
        let ready = masters.filter(|(_, master)| master.is_ready());
        ready.map(|(at, _)| at).collect()
    }

    async fn carry_to(self: Arc<Self>, at: usize) {
        let Some(master) = self.minion.masters.get(at) else {
            return;
        };
        let mut phase = master.phase.clone();
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            phase.mark_unchanged();
            if let Some(parcel) = self.next_for(at) {
                self.hand_over(at, master, parcel).await;
                continue;
            }
            tokio::select! {
                () = changed => {}
                alive = phase.changed() => {
                    if alive.is_err() {
                        return;
                    }
                    // Others may take what this one cannot.
                    self.changed.notify_waiters();
                }
            }
        }
    }

    fn next_for(&self, at: usize) -> Option<Parcel> {
        let masters = &self.minion.masters;
        let is_ready = |at: usize| masters.get(at).is_some_and(Master::is_ready);
        if !is_ready(at) {
            return None;
        }
        let mut waiting = self.waiting();
        let next = waiting.next_for(self.started.elapsed(), at, is_ready);
        say_what_was_dropped(&mut waiting);
        next
    }

    async fn hand_over(&self, at: usize, master: &Master, parcel: Parcel) {
        let Parcel { numbers, events } = parcel;
        let mut load = Map::from([
            ("id", Value::from(&self.minion.id)),
            ("cmd", "_minion_event".into()),
            ("pretag", Value::Nil),
            ("events", events.into()),
        ]);
        let is_known_again = master.channel.capabilities().batches;
        let batches = Batches {
            process: self.process.clone(),
            numbers,
        };
        if is_known_again {
            batches.add_to(&mut load);
        }
        let numbers = batches.numbers;
        // Each try counts, and one that is gone is not waited for.
        let patience = Patience {
            tries: 1,
            ..self.minion.patience
        };
        let mut phase = master.phase.clone();
        let answer = tokio::select! {
            answer = master.channel.request(load, patience) => answer.map_err(Some),
            _ = phase.wait_for(|phase| *phase != Phase::Ready) => Err(None),
        };
        let Err(why) = answer else {
            self.waiting().arrived(&numbers, at);
            self.changed.notify_waiters();
            return;
        };
        let failure = failure(why.as_ref(), is_known_again);
        let why = why.map_or_else(
            || "the link to the master is closed".to_owned(),
            |why| chain(&why),
        );
        debug!(
            master = master.name,
            "could not send events of beacons, trying again: {why}"
        );
        let given_up = {
            let mut waiting = self.waiting();
            let given_up = waiting.failed(&numbers, at, failure);
            say_what_was_dropped(&mut waiting);
            given_up
        };
        if given_up > 0 {
            error!(
                master = master.name,
                events = given_up,
                "no longer sending events of beacons to this master: {why}"
            );
        }
        self.changed.notify_waiters();
        if failure != Failure::Never && given_up == 0 && master.is_ready() {
            sleep(DOUBT_LASTS).await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn say_what_was_dropped(waiting: &mut Waiting) {
    let Untold { surely, perhaps } = waiting.take_lost();
    if surely > 0 {
        error!(
            events = surely,
            "events of beacons are lost: no master accepted them before they became too many or \
             too old"
        );
    }
    if perhaps > 0 {
        error!(
            events = perhaps,
            "events of beacons may be lost: no master confirmed them before they became too many \
             or too old"
        );
    }
}

/// The consequence of a failed request; nothing is known if the link was lost.
fn failure(why: Option<&ChannelError>, is_known_again: bool) -> Failure {
    let in_doubt = Failure::InDoubt { is_known_again };
    let Some(why) = why else {
        return in_doubt;
    };
    match why {
        ChannelError::NotSignedIn => Failure::NotSent,
        ChannelError::Pack(_) | ChannelError::Sign(_) => Failure::Never,
        ChannelError::Refused(_)
        | ChannelError::Unpack(_)
        | ChannelError::NotAuthentic
        | ChannelError::Private(_) => Failure::Refused,
        ChannelError::Request(why) => match why {
            RequestError::TooLarge { .. } => Failure::Never,
            RequestError::NoAnswer { .. } | RequestError::Disconnected { .. } => in_doubt,
            RequestError::NotConnected { .. }
            | RequestError::Unresolved { .. }
            | RequestError::Busy { .. }
            | RequestError::Socket { .. }
            | RequestError::Closed => Failure::NotSent,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use halite_proto::Refusal;
    use halite_transport::Endpoint;

    use super::*;

    #[test]
    fn only_what_was_sent_is_in_doubt() {
        let endpoint: Endpoint = "tcp://127.0.0.1:4506".parse().unwrap();
        let waited = Duration::from_secs(1);
        let means = |why: Option<ChannelError>| failure(why.as_ref(), true);
        let of = |why: RequestError| means(Some(why.into()));
        let in_doubt = Failure::InDoubt {
            is_known_again: true,
        };
        assert_eq!(means(None), in_doubt);
        assert_eq!(means(Some(ChannelError::NotSignedIn)), Failure::NotSent);
        let refused = ChannelError::Refused(Refusal::HandlerFailed);
        assert_eq!(means(Some(refused)), Failure::Refused);
        let no_answer = RequestError::NoAnswer {
            endpoint: endpoint.clone(),
            waited,
        };
        assert_eq!(of(no_answer), in_doubt);
        let no_connection = RequestError::NotConnected { endpoint, waited };
        assert_eq!(of(no_connection), Failure::NotSent);
        let too_large = RequestError::TooLarge { bytes: 2, max: 1 };
        assert_eq!(of(too_large), Failure::Never);
    }
}
