//! Which minions are connected to a publish port, by their proofs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_proto::MinionId;

use crate::limits::{
    SIGN_OF_LIFE_INTERVAL, SIGN_OF_LIFE_INTERVAL_MAX, SIGNS_OF_LIFE_MISSED_TENTHS,
};

/// The events of a publish port about a minion that has proven its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresenceEvent {
    /// The minion is there. The event is repeated while that lasts.
    Here(MinionId),
    /// The connection that the minion was last heard over has ended.
    Gone(MinionId),
    /// The connection stands, but the minion gives no more signs of life: its cable is
    /// cut, or its machine has stopped.
    Silent(MinionId),
}

/// Returns the minion whose presence a message proves.
type Prove = dyn Fn(&[u8]) -> Option<MinionId> + Send + Sync;

/// Answers a message that has proven a minion.
type AnswerSign = dyn Fn(&[u8], &MinionId) -> Option<Vec<u8>> + Send + Sync;

/// Judges what subscribers say, and receives the presence events of a publish
/// port. Both are called on the port's tasks, and must neither block nor
/// publish; events come under a lock of the port.
#[derive(Clone)]
pub struct PresenceWatch {
    prove: Arc<Prove>,
    answer: Arc<AnswerSign>,
    on_event: Arc<dyn Fn(PresenceEvent) + Send + Sync>,
    unproven: Arc<Unproven>,
    interval: SignInterval,
}

/// How often the minions of a port give signs of life. It only grows: a minion that was
/// told an earlier value gives them more often than it must.
#[derive(Clone, Debug)]
pub struct SignInterval(Arc<AtomicU64>);

impl Default for SignInterval {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(millis(SIGN_OF_LIFE_INTERVAL))))
    }
}

impl SignInterval {
    /// Raises it to `wanted`, within its bounds, and returns what holds now.
    pub fn raise(&self, wanted: Duration) -> Duration {
        let wanted = millis(wanted.min(SIGN_OF_LIFE_INTERVAL_MAX));
        let before = self.0.fetch_max(wanted, Ordering::Relaxed);
        Duration::from_millis(before.max(wanted))
    }

    /// How long signs may be away before their minion counts as silent.
    pub(crate) fn missed_after(&self) -> Duration {
        let every = Duration::from_millis(self.0.load(Ordering::Relaxed));
        every * SIGNS_OF_LIFE_MISSED_TENTHS / 10
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl PresenceWatch {
    /// `prove` says which minion a message proves to be there, and `on_event`
    /// is called with every event, in order.
    pub fn new(
        prove: impl Fn(&[u8]) -> Option<MinionId> + Send + Sync + 'static,
        on_event: impl Fn(PresenceEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            prove: Arc::new(prove),
            answer: Arc::new(|_, _| None),
            on_event: Arc::new(on_event),
            unproven: Arc::default(),
            interval: SignInterval::default(),
        }
    }

    /// The same with answers to messages that have proven a minion: each goes to its
    /// sender as a publication does, unless something else is on its way there.
    #[must_use]
    pub fn answering(
        self,
        answer: impl Fn(&[u8], &MinionId) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(answer),
            ..self
        }
    }

    /// How often minions say that they are there.
    pub fn interval(&self) -> SignInterval {
        self.interval.clone()
    }

    /// The connections over which no minion was heard.
    pub fn unproven(&self) -> Arc<Unproven> {
        Arc::clone(&self.unproven)
    }

    pub(crate) fn prove(&self, said: &[u8]) -> Option<MinionId> {
        (self.prove)(said)
    }

    pub(crate) fn answer(&self, said: &[u8], id: &MinionId) -> Option<Vec<u8>> {
        (self.answer)(said, id)
    }

    pub(crate) fn emit(&self, event: PresenceEvent) {
        (self.on_event)(event);
    }
}

impl fmt::Debug for PresenceWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresenceWatch")
    }
}

/// The connections of a port over which no minion has proven that it is there:
/// those of minions that cannot, and of strangers.
#[derive(Debug)]
pub struct Unproven(Mutex<Count>);

#[derive(Debug)]
struct Count {
    connections: usize,
    changed: Instant,
}

impl Default for Unproven {
    fn default() -> Self {
        Self(Mutex::new(Count {
            connections: 0,
            changed: Instant::now(),
        }))
    }
}

impl Unproven {
    /// Since when no unidentified subscriber is connected: every minion that is connected is known.
    pub fn none_since(&self) -> Option<Instant> {
        let count = self.lock();
        (count.connections == 0).then_some(count.changed)
    }

    pub(crate) fn enter(&self) {
        let mut count = self.lock();
        count.connections += 1;
        count.changed = Instant::now();
    }

    /// One has ended, or has proven its minion.
    pub(crate) fn leave(&self) {
        let mut count = self.lock();
        count.connections = count.connections.saturating_sub(1);
        count.changed = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sign of life that a subscriber repeats while it is connected. It is made anew each
/// time, since it proves one moment only.
#[derive(Clone)]
pub struct SignsOfLife {
    next: Arc<dyn Fn() -> Option<Vec<u8>> + Send + Sync>,
    every: Arc<dyn Fn() -> Option<Duration> + Send + Sync>,
}

impl SignsOfLife {
    /// `next` makes the next sign; `None` while there is nothing to send.
    pub fn new(next: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self {
            next: Arc::new(next),
            every: Arc::new(|| None),
        }
    }

    /// The same at the pace that the publish port wants, as `every` knows it.
    #[must_use]
    pub fn paced(self, every: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self {
            every: Arc::new(every),
            ..self
        }
    }

    pub(crate) fn next(&self) -> Option<Vec<u8>> {
        (self.next)()
    }

    /// How long to wait after a sign.
    pub(crate) fn pause(&self) -> Duration {
        let every = (self.every)().unwrap_or(SIGN_OF_LIFE_INTERVAL);
        every.clamp(SIGN_OF_LIFE_INTERVAL, SIGN_OF_LIFE_INTERVAL_MAX)
    }
}

impl fmt::Debug for SignsOfLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignsOfLife")
    }
}
