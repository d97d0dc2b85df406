//! How long to wait before the next try: growing, bounded, and randomised so that a
//! fleet does not return to a master in one instant.

use std::time::Duration;

use halite_proto::chance::Chance;

/// A growing pause. The random numbers come from a small generator that is
/// seeded by the caller, so that a simulated run can be repeated.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
    is_spread: bool,
    chance: Chance,
}

impl Backoff {
    /// Pauses that start at `first` and double up to `max`.
    pub fn new(first: Duration, max: Duration, seed: u64) -> Self {
        Self {
            first,
            max: max.max(first),
            next: first,
            is_spread: true,
            chance: Chance::new(seed),
        }
    }

    /// The same with pauses that are spread by chance, or are not.
    #[must_use]
    pub fn spread(mut self, is_spread: bool) -> Self {
        self.is_spread = is_spread;
        self
    }

    /// Forgets the growth: the last try succeeded.
    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next pause: between half and all of the grown value.
    pub fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(self.max);
        if !self.is_spread {
            return whole;
        }
        let half = whole / 2;
        half + self.chance.up_to(whole - half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_within_bounds_and_start_again_after_success() {
        let (first, max) = (Duration::from_millis(100), Duration::from_secs(2));
        let mut backoff = Backoff::new(first, max, 7);
        let mut whole = first;
        for _ in 0..20 {
            let pause = backoff.pause();
            assert!(
                pause >= whole / 2 && pause <= whole,
                "{pause:?} of {whole:?}"
            );
            whole = (whole * 2).min(max);
        }
        backoff.reset();
        assert!(backoff.pause() <= first);
    }

    #[test]
    fn the_same_seed_waits_the_same_time() {
        let pauses = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60), seed);
            (0..5).map(|_| backoff.pause()).collect::<Vec<_>>()
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
    }
}
