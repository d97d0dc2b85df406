//! Pseudorandom numbers from a seed: for spreading events in time, never for
//! secrets.
//!
//! Invariant: the same seed yields the same numbers, so that a simulated run can be
//! repeated.

use std::time::Duration;

/// A small seeded generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A generator that yields the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A duration from nothing to all of `span`, to the microsecond.
    pub fn up_to(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        match micros {
            0 => Duration::ZERO,
            _ => Duration::from_micros(self.next_u64() % micros.saturating_add(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_yields_the_same_numbers_within_the_span() {
        let span = Duration::from_millis(3);
        let drawn = |seed| {
            let mut chance = Chance::new(seed);
            (0..50).map(|_| chance.up_to(span)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        assert!(drawn(3).iter().all(|one| *one <= span));
        assert_eq!(Chance::new(7).up_to(Duration::ZERO), Duration::ZERO);
    }
}
