//! How long the refusal of a login is delayed.
//!
//! Invariant: the time does not reveal which login method was asked. It counts from
//! the arrival of the request, and every refusal takes as long as a slow method has
//! once taken, also for names that were never looked up.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The slowest refusal so far.
#[derive(Debug)]
pub struct RefusalPace {
    slowest: Mutex<Duration>,
    slowest_max: Duration,
    spread: Duration,
}

impl RefusalPace {
    /// Refusals take at least `min`, up to `spread` more, and no longer for
    /// what has taken more than `slowest_max`.
    pub fn new(min: Duration, spread: Duration, slowest_max: Duration) -> Self {
        Self {
            slowest: Mutex::new(min),
            slowest_max,
            spread,
        }
    }

    /// How long a refusal has still to wait that it `took` so long to decide;
    /// `random` spreads it.
    pub fn wait(&self, took: Duration, random: u32) -> Duration {
        let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        *slowest = took.min(self.slowest_max).max(*slowest);
        let due = *slowest + self.spread.mul_f64(f64::from(random) / f64::from(u32::MAX));
        due.saturating_sub(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_takes_as_long_whoever_was_asked() {
        let ms = Duration::from_millis;
        let pace = RefusalPace::new(ms(750), ms(500), ms(4_000));
        for (took, random, wait) in [
            (0, 0, 750),
            (0, u32::MAX, 1_250),
            // The time of the check is a part of it.
            (700, 0, 50),
            (3_000, 0, 0),
            (3_000, u32::MAX, 500),
            // Who is refused at once waits as long from now on.
            (0, 0, 3_000),
            (2_000, 0, 1_000),
            // What hangs makes nobody else wait without end.
            (30_000, u32::MAX, 0),
            (0, 0, 4_000),
        ] {
            assert_eq!(pace.wait(ms(took), random), ms(wait), "{took} {random}");
        }
    }
}
