//! Pauses before a connection is tried again.

use std::time::Duration;

use halite_crypto::random_bytes;
use halite_proto::chance::Chance;

/// Pauses that double up to a bound, each spread by chance over its upper half:
/// those who lost the same master do not come back in one moment.
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
    chance: Chance,
}

impl Backoff {
    pub(super) fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max: max.max(first),
            next: first,
            chance: Chance::new(u64::from_le_bytes(random_bytes())),
        }
    }

    /// The pause after a failure.
    pub(super) fn pause(&mut self) -> Duration {
        let half = self.next / 2;
        let pause = half + self.chance.up_to(half);
        self.next = self.next.saturating_mul(2).min(self.max);
        pause
    }

    /// To be called after a success.
    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_their_bound() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(300));
        for upto in [100, 200, 300, 300] {
            let pause = backoff.pause();
            assert!(pause >= ms(upto / 2) && pause <= ms(upto), "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= ms(100));
    }
}
