//! The messages of a master, in order, for as long as a peer may need them again.
//!
//! Pure: time comes in. Invariant: numbers rise by one; the oldest are dropped
//! first, so the rest is without a gap.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::peer::PeerId;

/// A message that was sent to peers, kept in case one of them needs it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedMessage {
    /// Its number.
    pub(crate) number: u64,
    /// When it was sent.
    pub(crate) at: Instant,
    /// Whom it is for; everybody unless it says so.
    pub(crate) to: Option<PeerId>,
    /// What it says.
    pub(crate) message: Arc<[u8]>,
}

/// What stands in place of a message that was released: nothing, in MessagePack.
pub const RELEASED: [u8; 1] = [0xc0];

/// The bounds of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) age: Duration,
    pub(crate) bytes_max: usize,
    pub(crate) messages_max: usize,
}

/// The messages of the last while.
#[derive(Debug)]
pub(crate) struct Log {
    bounds: Bounds,
    messages: VecDeque<LoggedMessage>,
    bytes: usize,
    /// The number of the last message, 0 before the first.
    last: u64,
}

impl Log {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            messages: VecDeque::new(),
            bytes: 0,
            last: 0,
        }
    }

    /// Adds a message; its number.
    pub(crate) fn tell(&mut self, now: Instant, to: Option<PeerId>, message: Arc<[u8]>) -> u64 {
        self.last += 1;
        self.bytes += message.len();
        let told = LoggedMessage {
            number: self.last,
            at: now,
            to,
            message,
        };
        self.messages.push_back(told);
        self.forget(now);
        self.last
    }

    /// Keeps a message no more, but for its number; who asks for it again gets
    /// [`RELEASED`].
    pub(crate) fn release(&mut self, number: u64) {
        let first = self.messages.front().map_or(0, |told| told.number);
        let at = number.checked_sub(first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(told) = at.and_then(|at| self.messages.get_mut(at)) {
            self.bytes = self.bytes - told.message.len() + RELEASED.len();
            told.message = RELEASED.into();
        }
    }

    /// Forgets what is too old or too much; the last message always stays.
    fn forget(&mut self, now: Instant) {
        while self.messages.len() > 1
            && let Some(oldest) = self.messages.front()
        {
            let is_old = now.saturating_duration_since(oldest.at) > self.bounds.age;
            let is_too_much = self.bytes > self.bounds.bytes_max
                || self.messages.len() > self.bounds.messages_max;
            if !is_old && !is_too_much {
                return;
            }
            self.bytes -= oldest.message.len();
            self.messages.pop_front();
        }
    }

    /// How many messages are kept, and their bytes.
    pub(crate) fn depth(&self) -> (usize, usize) {
        (self.messages.len(), self.bytes)
    }

    /// How many messages after a number are kept, and how old the first of them is.
    pub(crate) fn behind(&self, number: u64, now: Instant) -> (usize, Option<Duration>) {
        let is_told = |told: &LoggedMessage| told.number <= number;
        let at = self.messages.partition_point(is_told);
        let age = |told: &LoggedMessage| now.saturating_duration_since(told.at);
        (self.messages.len() - at, self.messages.get(at).map(age))
    }

    #[cfg(test)]
    fn last(&self) -> u64 {
        self.last
    }

    /// The messages after a number, at most so many and so large; and whether
    /// some between are forgotten.
    pub(crate) fn after(
        &self,
        number: u64,
        count_max: usize,
        bytes_max: usize,
    ) -> (Vec<LoggedMessage>, bool) {
        let first = self
            .messages
            .front()
            .map_or(self.last + 1, |told| told.number);
        // Peers say the number, and may say any.
        let next = number.saturating_add(1);
        let is_gap = next < first;
        let skip = next.saturating_sub(first);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut found = Vec::new();
        for told in self.messages.iter().skip(skip).take(count_max) {
            bytes += told.message.len();
            if bytes > bytes_max && !found.is_empty() {
                break;
            }
            found.push(told.clone());
        }
        (found, is_gap)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(bytes_max: usize, messages_max: usize) -> Log {
        Log::new(Bounds {
            age: Duration::from_secs(10),
            bytes_max,
            messages_max,
        })
    }

    fn numbers(told: &[LoggedMessage]) -> Vec<u64> {
        told.iter().map(|told| told.number).collect()
    }

    #[test]
    fn a_peer_reads_on_where_it_was() {
        let now = Instant::now();
        let mut log = log(1000, 100);
        assert_eq!(log.after(0, 9, 99), (Vec::new(), false));
        for n in 1..=5u8 {
            assert_eq!(log.tell(now, None, [n].into()), u64::from(n));
        }
        let (told, is_gap) = log.after(2, 2, 99);
        assert_eq!((numbers(&told), is_gap), (vec![3, 4], false));
        assert_eq!(numbers(&log.after(2, 9, 1).0), [3]);
        assert_eq!(numbers(&log.after(5, 9, 9).0), [] as [u64; 0]);
        // A peer that is ahead has heard an earlier life of ours.
        assert_eq!(log.after(9, 9, 9), (Vec::new(), false));
    }

    #[test]
    fn what_a_peer_has_not_acknowledged_has_an_age() {
        let now = Instant::now();
        let mut log = log(1000, 3);
        let second = Duration::from_secs(1);
        assert_eq!(log.behind(0, now), (0, None));
        for n in 1..=4u32 {
            log.tell(now + n * second, None, [0; 7].into());
        }
        let now = now + 5 * second;
        assert_eq!(log.depth(), (3, 21));
        // The first is forgotten, whoever has not heard it.
        assert_eq!(log.behind(0, now), (3, Some(3 * second)));
        assert_eq!(log.behind(3, now), (1, Some(second)));
        assert_eq!(log.behind(4, now), (0, None));
        assert_eq!(log.behind(9, now), (0, None));
    }

    #[test]
    fn what_is_released_leaves_its_number() {
        let now = Instant::now();
        let mut log = log(1000, 3);
        for n in 1..=4u8 {
            log.tell(now, None, [n; 100].into());
        }
        assert_eq!(log.depth(), (3, 300));
        // The first is forgotten already, and there is no ninth.
        for number in [1, 3, 3, 9] {
            log.release(number);
        }
        assert_eq!(log.depth(), (3, 201));
        let (told, is_gap) = log.after(1, 9, 999);
        assert_eq!((numbers(&told), is_gap), (vec![2, 3, 4], false));
        assert_eq!(*told[1].message, RELEASED);
    }

    #[test]
    fn what_is_forgotten_is_a_gap() {
        let now = Instant::now();
        let mut log = log(1000, 3);
        for n in 1..=5u8 {
            log.tell(now, None, [n].into());
        }
        assert!(log.after(1, 9, 9).1);
        let (told, is_gap) = log.after(2, 9, 9);
        assert_eq!((numbers(&told), is_gap), (vec![3, 4, 5], false));
        log.tell(now + Duration::from_secs(11), None, [6].into());
        assert_eq!(numbers(&log.after(0, 9, 9).0), [6]);
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds(sizes in prop::collection::vec(0usize..40, 1..80)) {
            let mut log = log(100, 10);
            let now = Instant::now();
            for size in sizes {
                log.tell(now, None, vec![0; size].into());
                let held: usize = log.messages.iter().map(|told| told.message.len()).sum();
                prop_assert_eq!(held, log.bytes);
                prop_assert!(log.messages.len() <= 10 && (held <= 100 || log.messages.len() == 1));
                let (told, _) = log.after(0, usize::MAX, usize::MAX);
                prop_assert_eq!(told.last().map(|told| told.number), Some(log.last()));
            }
        }
    }
}
