//! Which sign-ins are asked to come again, and when: those that would wait too long
//! behind others get appointments at the pace at which sign-ins are served.
//!
//! Invariant: an appointment is between the bounds that were given, and while some are
//! left within these, no two are closer to each other than sign-ins are served.

use std::time::{Duration, Instant};

/// An eighth of each new time goes into the mean.
const MEAN_OF: u32 = 8;

/// Appointments take up four of five places: sign-ins that have none come as well.
const SPACE: (u32, u32) = (5, 4);

/// The bounds of a pace.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long a sign-in may wait to be served; one that would wait longer is asked to
    /// come again.
    pub wait_max: Duration,
    /// The nearest appointment.
    pub nearest: Duration,
    /// The furthest one. When all places up to it are given, they are given again.
    pub furthest: Duration,
}

/// The pace of sign-ins.
#[derive(Debug)]
pub struct SignInPace {
    bounds: Bounds,
    threads: u32,
    /// What one takes a thread; zero before the first one.
    mean: Duration,
    /// The next appointment.
    next: Option<Instant>,
    /// Up to when they are given; earlier ones are given again.
    given: Option<Instant>,
}

/// When a sign-in is to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// After how long.
    pub wait: Duration,
    /// Whether nobody else has this one.
    pub is_free: bool,
}

impl SignInPace {
    /// For this many threads, none of which has served anybody yet.
    pub fn new(bounds: Bounds, threads: usize) -> Self {
        Self {
            bounds,
            threads: u32::try_from(threads).unwrap_or(u32::MAX).max(1),
            mean: Duration::ZERO,
            next: None,
            given: None,
        }
    }

    /// A thread has served a sign-in in this time.
    pub fn served(&mut self, took: Duration) {
        // One that hung says nothing about the others.
        let took = took.min(self.bounds.wait_max);
        self.mean = match self.mean.is_zero() {
            true => took,
            false => (self.mean * (MEAN_OF - 1) + took) / MEAN_OF,
        };
    }

    /// Whether a sign-in with this many ahead of it would wait too long.
    pub fn is_late(&self, ahead: usize) -> bool {
        self.wait_behind(ahead) > self.bounds.wait_max
    }

    /// When a sign-in with this many ahead of it is to come again.
    pub fn appointment(&mut self, now: Instant, ahead: usize) -> Slot {
        let Bounds {
            nearest, furthest, ..
        } = self.bounds;
        let wait = self.wait_behind(ahead);
        let first = now + wait.clamp(nearest, furthest);
        let last = now + furthest;
        let next = self.next.filter(|next| (first..=last).contains(next));
        let at = next.unwrap_or(first);
        let next = at + self.mean / self.threads * SPACE.0 / SPACE.1;
        self.next = Some(next);
        let is_free = self.given.is_none_or(|given| at >= given);
        if is_free {
            self.given = Some(next);
        }
        Slot {
            wait: at.duration_since(now),
            is_free,
        }
    }

    fn wait_behind(&self, ahead: usize) -> Duration {
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        self.mean.saturating_mul(ahead) / self.threads
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::{BinaryHeap, VecDeque};

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    const BOUNDS: Bounds = Bounds {
        wait_max: Duration::from_secs(1),
        nearest: Duration::from_secs(2),
        furthest: Duration::from_secs(10),
    };

    /// Two threads that need 4 ms for each sign-in.
    fn pace() -> SignInPace {
        let mut pace = SignInPace::new(BOUNDS, 2);
        pace.served(MS(4));
        pace
    }

    /// One that nobody else has.
    fn free(pace: &mut SignInPace, now: Instant) -> Duration {
        let given = pace.appointment(now, 600);
        assert!(given.is_free, "{given:?}");
        given.wait
    }

    #[test]
    fn who_is_served_soon_enough_is_not_sent_away() {
        assert!(!pace().is_late(500));
        assert!(pace().is_late(501));
        // Before the first one nobody knows.
        let mut new = SignInPace::new(BOUNDS, 2);
        assert!(!new.is_late(usize::MAX));
        new.served(Duration::MAX);
        assert!(new.is_late(usize::MAX));
        let given = new.appointment(Instant::now(), usize::MAX);
        assert_eq!(given.wait, BOUNDS.furthest);
    }

    #[test]
    fn appointments_follow_each_other_at_the_pace_of_service() {
        let (now, mut pace) = (Instant::now(), pace());
        let mut given: Vec<_> = (0..3_200).map(|_| free(&mut pace, now)).collect();
        let first = [2_000_000, 2_002_500, 2_005_000].map(Duration::from_micros);
        assert_eq!(given[..3], first);
        given.sort_unstable();
        let gaps = given.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(gaps.min(), Some(Duration::from_micros(2_500)));
        assert!(given.iter().all(|wait| *wait <= BOUNDS.furthest));
    }

    #[test]
    fn places_are_given_again_when_there_are_no_more_and_forgotten_when_past() {
        let (now, mut pace) = (Instant::now(), pace());
        let given: Vec<_> = (0..10_000).map(|_| pace.appointment(now, 600)).collect();
        assert!(given.iter().all(|given| given.wait <= BOUNDS.furthest));
        // Only the first of each belongs to one sign-in alone.
        let free = given.iter().filter(|given| given.is_free).count();
        assert_eq!(free, 3_201);
        assert!(given[..free].iter().all(|given| given.is_free));
        let next = pace.appointment(now + MS(1_000), 600);
        assert!(!next.is_free, "{next:?}");
        // All that were given are over.
        let later = now + MS(60_000);
        let wait = BOUNDS.nearest;
        let is_free = true;
        assert_eq!(pace.appointment(later, 600), Slot { wait, is_free });
    }

    #[test]
    fn one_that_hung_changes_the_pace_for_a_while() {
        let mut pace = pace();
        pace.served(MS(60_000));
        assert!(pace.is_late(20));
        for _ in 0..60 {
            pace.served(MS(4));
        }
        assert!(!pace.is_late(400));
    }

    /// A herd of ten times what is served within the longest wait: whoever is sent
    /// away comes at its time, and all are served at little less than the full pace.
    #[test]
    fn a_herd_that_keeps_its_appointments_is_through_at_the_pace_of_service() {
        const HERD: usize = 5_000;
        let begun = Instant::now();
        let mut pace = pace();
        let mut due: BinaryHeap<_> = (0..HERD).map(|n| Reverse((Duration::ZERO, n))).collect();
        let (mut waiting, mut served, mut asked) = (VecDeque::new(), 0, 0);
        let mut now = Duration::ZERO;
        while served < HERD {
            while due.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                let Some(Reverse((_, minion))) = due.pop() else {
                    break;
                };
                asked += 1;
                match pace.is_late(waiting.len()) {
                    true => {
                        let given = pace.appointment(begun + now, waiting.len());
                        due.push(Reverse((now + given.wait, minion)));
                    }
                    false => waiting.push_back((now, minion)),
                }
            }
            if let Some((since, _)) = waiting.pop_front() {
                assert!(now - since <= BOUNDS.wait_max, "{:?}", now - since);
                served += 1;
            }
            now += MS(2);
        }
        assert!(
            now < MS(2) * 13_000 / 2,
            "{HERD} were served within {now:?}"
        );
        assert!(asked < 3 * HERD, "{HERD} have asked {asked} times");
    }
}
