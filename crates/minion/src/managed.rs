//! What the schedule and the beacons have in common: they begin with the first
//! connection, follow the pillar, and are managed by requests over the event
//! bus.
//!
//! Invariant: requests are answered one at a time, in their order.

pub(crate) mod scheduler;

use std::future::pending;
use std::sync::Arc;

use halite_proto::Map;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tracing::{debug, error};

use crate::core::link::Phase;
use crate::minion::{Answer, Minion};

/// Waits for the first connection; without masters, for nothing.
pub(crate) async fn until_connected(minion: &Minion) {
    if !minion.masters.is_empty() {
        let phases = minion.masters.iter().map(|master| master.phase.clone());
        until_one_is_ready(phases).await;
    }
}

/// Waits until one of these links is connected; a link whose task has died
/// never is, and without any the wait has no end.
async fn until_one_is_ready(phases: impl IntoIterator<Item = watch::Receiver<Phase>>) {
    let ready = phases.into_iter().map(|mut phase| async move {
        let ready = phase.wait_for(|at| *at == Phase::Ready).await;
        ready.is_ok()
    });
    until_one(ready.collect()).await;
}

/// Waits until one of these links, whatever it was when it was looked at last,
/// has changed since and is connected. Without any the wait has no end.
pub(crate) async fn until_one_is_ready_again(
    phases: impl IntoIterator<Item = watch::Receiver<Phase>>,
) {
    let ready = phases.into_iter().map(|mut phase| async move {
        phase.changed().await.is_ok() && phase.wait_for(|at| *at == Phase::Ready).await.is_ok()
    });
    until_one(ready.collect()).await;
}

async fn until_one(mut waits: JoinSet<bool>) {
    while let Some(waited) = waits.join_next().await {
        if matches!(waited, Ok(true)) {
            return;
        }
    }
    pending::<()>().await;
}

/// Handles the requests under a tag on the event bus, also those of Salt's programs, for
/// as long as the minion runs. They are answered on a thread that may wait.
pub(crate) async fn hear(
    minion: &Minion,
    tag: &str,
    answer: impl Fn(&Map) -> Answer + Clone + Send + 'static,
) {
    let mut requests = minion.bus.subscribe_to(vec![tag.to_owned()]);
    while let Some(request) = requests.recv().await {
        let Ok(event) = request.unpack() else {
            continue;
        };
        let answer = answer.clone();
        match spawn_blocking(move || answer(&event.data)).await {
            Ok(Ok((answer, data))) => {
                if let Err(error) = minion.fire_local(answer, data) {
                    debug!(tag, error, "could not answer a request from the event bus");
                }
            }
            Ok(Err(error)) => debug!(tag, error, "a request from the event bus failed"),
            Err(cause) => error!(tag, %cause, "a request from the event bus panicked"),
        }
    }
}

/// Passes on the pillar whenever it is compiled anew: that of the same master for as long
/// as it is connected, whichever is first.
pub(crate) async fn follow_pillar(minion: &Minion, heed: impl Fn(Arc<Map>)) {
    let mut changes = JoinSet::new();
    for master in &minion.masters {
        changes.spawn(changed(master.pillar.subscribe()));
    }
    while let Some(Ok(Some(pillars))) = changes.join_next().await {
        let mut masters = minion.masters.iter();
        let pillar = masters.find_map(|master| master.pillar.borrow().clone());
        heed(pillar.unwrap_or_default());
        changes.spawn(changed(pillars));
    }
}

type Pillars = watch::Receiver<Option<Arc<Map>>>;

async fn changed(mut pillars: Pillars) -> Option<Pillars> {
    pillars.changed().await.ok().map(|()| pillars)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(60);
    /// A request that has not arrived by then was not sent: nothing here takes time.
    const NEVER: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_link_that_died_is_no_connection() {
        let (dead, phase) = watch::channel(Phase::Idle);
        drop(dead);
        let (alive, other) = watch::channel(Phase::Idle);
        let both = || [phase.clone(), other.clone()];
        assert!(timeout(NEVER, until_one_is_ready(both())).await.is_err());
        assert!(timeout(NEVER, until_one_is_ready([])).await.is_err());
        alive.send_replace(Phase::Ready);
        assert!(timeout(SOON, until_one_is_ready(both())).await.is_ok());
    }

    #[tokio::test]
    async fn a_link_that_stays_as_it_is_is_not_ready_again() {
        let (link, mut phase) = watch::channel(Phase::Ready);
        phase.mark_unchanged();
        let again = || until_one_is_ready_again([phase.clone()]);
        assert!(timeout(NEVER, again()).await.is_err());
        // It was away, and nobody looked.
        link.send_replace(Phase::Paused);
        assert!(timeout(NEVER, again()).await.is_err());
        link.send_replace(Phase::Ready);
        assert!(timeout(SOON, again()).await.is_ok());
        drop(link);
        phase.mark_unchanged();
        let gone = until_one_is_ready_again([phase.clone()]);
        assert!(timeout(NEVER, gone).await.is_err());
    }
}
