//! Has balancers send no minions here while the keys of minions cannot be read: such a
//! master would refuse them all.
//!
//! Invariant: one look runs at a time, on a thread of its own, so that a file system or
//! server that hangs costs one thread and nothing waits for it.

use std::sync::Arc;

use halite_key::KeyStoreError;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::health::Health;
use crate::core::steady::Steady;
use crate::error::chain;
use crate::limits::{KEY_LOOK_INTERVAL, KEY_LOOK_MAX, KEY_LOOKS_MIN};
use crate::master::Master;

type Looked = Result<(), KeyStoreError>;

/// Watches the keys of a master until it is dropped.
pub(super) async fn watch_keys(master: Arc<Master>, health: Health) {
    let look = move || {
        if let Some(cluster) = &master.cluster {
            cluster.dir.check_readable()?;
        }
        master.keys.store.check_readable()
    };
    watch(&health, look).await;
}

async fn watch(health: &Health, look: impl Fn() -> Looked + Clone + Send + 'static) {
    let mut steady = Steady::usable(KEY_LOOKS_MIN);
    let mut looking = None;
    let mut due = interval(KEY_LOOK_INTERVAL);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let outcome = outcome(&mut looking, &look).await;
        let Some(has_keys) = steady.record(outcome.is_ok()) else {
            continue;
        };
        match outcome {
            Ok(()) => tracing::info!("the keys of minions can be read again"),
            Err(why) => tracing::error!(
                "the keys of minions cannot be read, `health_port` answers 503: {why}"
            ),
        }
        health.set_has_keys(has_keys);
    }
}

/// Waits for the look that is running, or for a new one; for so long. A look that hangs is
/// left in `looking`.
async fn outcome(
    looking: &mut Option<JoinHandle<Looked>>,
    look: &(impl Fn() -> Looked + Clone + Send + 'static),
) -> Result<(), String> {
    let running = looking.get_or_insert_with(|| spawn_blocking(look.clone()));
    let Ok(looked) = timeout(KEY_LOOK_MAX, running).await else {
        return Err(format!("no answer within {KEY_LOOK_MAX:?}"));
    };
    *looking = None;
    match looked {
        Ok(looked) => looked.map_err(|error| chain(&error)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    async fn wait_for(health: &Health, wanted: bool) {
        let deadline = Instant::now() + SOON;
        while health.is_ready() != wanted {
            assert!(Instant::now() < deadline, "not {wanted}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn a_look_that_hangs_is_the_only_one_and_ends_readiness() {
        let dir = tempfile::tempdir().unwrap();
        let health = Health::begin(dir.path());
        health.ready();
        let looks = Arc::new(AtomicUsize::new(0));
        let (let_go, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(std::sync::Mutex::new(hangs));
        let (counted, watched) = (Arc::clone(&looks), health.clone());
        let watching = tokio::spawn(async move {
            let look = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                // Until the test drops the sender.
                let _ = hangs.lock().unwrap().recv();
                Ok(())
            };
            watch(&watched, look).await;
        });
        wait_for(&health, false).await;
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        drop(let_go);
        wait_for(&health, true).await;
        watching.abort();
    }

    #[tokio::test]
    async fn a_failed_look_is_repeated_before_it_counts() {
        let dir = tempfile::tempdir().unwrap();
        let health = Health::begin(dir.path());
        health.ready();
        let looks = Arc::new(AtomicUsize::new(0));
        let (counted, watched) = (Arc::clone(&looks), health.clone());
        let watching = tokio::spawn(async move {
            let look = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                let path = PathBuf::from("missing");
                Err(KeyStoreError::NoDirectory { path })
            };
            watch(&watched, look).await;
        });
        wait_for(&health, false).await;
        let count = looks.load(Ordering::Relaxed);
        assert!(count >= KEY_LOOKS_MIN as usize, "{count}");
        watching.abort();
    }
}
