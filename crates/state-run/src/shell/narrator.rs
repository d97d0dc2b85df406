//! Reports the current state of a run to a program that shows it to people.
//!
//! Only jobs that ask for it (`progress` in their load) have a narrator; a fleet
//! that does not know it gets no reports. Invariant: no state waits for it; it
//! reports only the newest state, a few times a second, and a state that takes long
//! is always reported.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use halite_call::MinionContext;
use halite_proto::{Map, Value};
use halite_state::run::StateCall;
use tracing::debug;

use super::drive::Stage;
use crate::limits::{PLACES_WAITING_MAX, PROGRESS_PAUSE};

/// The field of a load that asks for it.
const WISH: &str = "progress";

/// Tells the master from a thread beside the run.
pub(super) struct Narrator(Option<SyncSender<Map>>);

impl Narrator {
    /// One that speaks if the job asks for it.
    pub(super) fn start<'scope, 'env: 'scope>(
        threads: &'scope Scope<'scope, 'env>,
        stage: &'env Stage<'_>,
    ) -> Self {
        let load = stage.load();
        let jid = load.get("jid").and_then(Value::as_str);
        let (Some(jid), Some(true)) = (jid, load.get(WISH).map(Value::is_true)) else {
            return Self(None);
        };
        let tag = format!("salt/job/{jid}/at/{}", stage.ctx().id());
        let (sender, places) = sync_channel(PLACES_WAITING_MAX);
        let run = move || newest(&places, |place| tell(stage, &tag, place));
        let thread = Builder::new().name("progress".to_owned());
        Self(thread.spawn_scoped(threads, run).ok().map(|_| sender))
    }

    /// A state begins.
    pub(super) fn begins(&self, call: &StateCall) {
        let Some(sender) = &self.0 else {
            return;
        };
        let id = call.low.get("__id__").cloned().unwrap_or_default();
        let place = Map::from([
            (
                "n",
                Value::from(i64::try_from(call.position.number).unwrap_or(i64::MAX)),
            ),
            (
                "len",
                i64::try_from(call.position.total)
                    .unwrap_or(i64::MAX)
                    .into(),
            ),
            ("id", id),
            ("fun", call.fun.as_str().into()),
        ]);
        // One that finds no room is not missed: a newer one comes.
        let _ = sender.try_send(place);
    }
}

/// Hands over the newest place, with a pause between two.
fn newest(places: &Receiver<Map>, mut tell: impl FnMut(Map)) {
    let mut next = Instant::now();
    while let Ok(mut place) = places.recv() {
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match places.recv_timeout(left) {
                Ok(newer) => place = newer,
                Err(RecvTimeoutError::Timeout) => break,
                // The run is over, and its result says more.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if left == Duration::ZERO {
                break;
            }
        }
        tell(place);
        next = Instant::now() + PROGRESS_PAUSE;
    }
}

fn tell(stage: &Stage<'_>, tag: &str, place: Map) {
    let bus = stage.ctx().master_bus();
    if let Err(error) = bus.and_then(|bus| bus.fire_master(tag, place.into())) {
        debug!(%error, "the master was not told how far the run is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_many_is_told_and_few_before_it() {
        let (sender, places) = sync_channel(PLACES_WAITING_MAX);
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || newest(&places, |place| told.send(place).unwrap()));
            for number in 0..50 {
                sender
                    .send(Map::from([("n", Value::from(number))]))
                    .unwrap();
            }
            let last = Map::from([("n", Value::from(49))]);
            let mut count = 1;
            while heard.recv_timeout(Duration::from_secs(30)).unwrap() != last {
                count += 1;
            }
            assert!(count < 50, "each was told");
            drop(sender);
        });
    }
}
