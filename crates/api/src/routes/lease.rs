//! Checks regularly, beside a stream, whether the credentials with which it began
//! are still valid.
//!
//! Invariant: the stream never waits for the answer, and ends with the first
//! refusal.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Asks whether the proof is still valid. Its argument is the answer of the other
/// masters, if there is one.
type Ask = Box<dyn Fn(Option<bool>) -> BoxFuture<'static, bool> + Send + Sync>;

/// A proof that is checked repeatedly.
pub(super) struct Lease {
    due: Interval,
    ask: Ask,
    asking: Option<JoinHandle<bool>>,
}

impl Lease {
    /// A proof that was valid a moment ago.
    pub(super) fn new(every: Duration, ask: Ask) -> Self {
        let mut due = interval(every);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        due.reset();
        Self {
            due,
            ask,
            asking: None,
        }
    }

    /// Waits until the proof is no longer valid. Cancel-safe.
    pub(super) async fn ended(&mut self, by_others: Option<bool>) {
        loop {
            match &mut self.asking {
                None => {
                    self.due.tick().await;
                    self.begin(by_others);
                }
                Some(asking) => {
                    let is_good = asking.await.unwrap_or(false);
                    self.asking = None;
                    if !is_good {
                        return;
                    }
                }
            }
        }
    }

    /// Whether the proof is known to be no longer valid. Starts a check if one is due.
    pub(super) fn has_ended(&mut self, by_others: Option<bool>) -> bool {
        self.ended(by_others).now_or_never().is_some()
    }

    fn begin(&mut self, by_others: Option<bool>) {
        self.asking = Some(tokio::spawn((self.ask)(by_others)));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

    use tokio::sync::Notify;
    use tokio::time::{sleep, timeout};

    use super::*;

    const EVERY: Duration = Duration::from_millis(100);

    const LONG: Duration = Duration::from_secs(20);

    /// A lease, how often was asked, and what is answered.
    fn lease() -> (Lease, Arc<AtomicUsize>, Arc<AtomicBool>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let is_good = Arc::new(AtomicBool::new(true));
        let (count, answer) = (Arc::clone(&asked), Arc::clone(&is_good));
        let ask = move |_| -> BoxFuture<'static, bool> {
            count.fetch_add(1, SeqCst);
            let answer = Arc::clone(&answer);
            Box::pin(async move { answer.load(SeqCst) })
        };
        (Lease::new(EVERY, Box::new(ask)), asked, is_good)
    }

    #[tokio::test]
    async fn who_is_within_a_large_event_is_looked_at_too() {
        let (mut lease, asked, is_good) = lease();
        is_good.store(false, SeqCst);
        // It is not time yet.
        assert!(!lease.has_ended(None));
        assert_eq!(asked.load(SeqCst), 0);
        sleep(2 * EVERY).await;
        // It is asked beside the stream, which does not wait.
        assert!(!lease.has_ended(None));
        let has_ended = async {
            while !lease.has_ended(None) {
                sleep(EVERY / 10).await;
            }
        };
        timeout(LONG, has_ended).await.unwrap();
        assert_eq!(asked.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn a_good_proof_is_asked_about_again_and_its_end_is_waited_for() {
        let (mut lease, asked, is_good) = lease();
        let meanwhile = async {
            while asked.load(SeqCst) < 3 {
                sleep(EVERY / 10).await;
            }
            is_good.store(false, SeqCst);
        };
        let ((), ()) = timeout(LONG, async { tokio::join!(lease.ended(None), meanwhile) })
            .await
            .unwrap();
        // The third look may have found the proof bad already.
        assert!(asked.load(SeqCst) >= 3);
    }

    #[tokio::test]
    async fn a_master_that_does_not_answer_holds_up_nothing() {
        let never = Arc::new(Notify::new());
        let ask = move |_| -> BoxFuture<'static, bool> {
            let never = Arc::clone(&never);
            Box::pin(async move {
                never.notified().await;
                false
            })
        };
        let mut lease = Lease::new(EVERY, Box::new(ask));
        for _ in 0..5 {
            sleep(EVERY).await;
            assert!(!lease.has_ended(None));
        }
    }
}
