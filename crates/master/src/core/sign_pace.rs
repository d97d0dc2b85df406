//! How often minions send signs of life.
//!
//! Each sign costs the master the check of a proof. Few minions send them so often
//! that a cut cable is noticed within two seconds; many send them less often, so
//! that all together cost the same.

use std::time::Duration;

/// Signs of life of all minions together, in a second.
/// They are what an idle fleet costs its master: a hundredth of a core.
pub const SIGNS_PER_S_MAX: usize = 500;

/// The time between two signs of life of a minion in a fleet of this size.
pub fn sign_every(minions: usize) -> Duration {
    let millis = minions.saturating_mul(1000) / SIGNS_PER_S_MAX;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_say_it_as_often_whatever_their_number() {
        assert_eq!(sign_every(100), Duration::from_millis(200));
        assert_eq!(sign_every(10_000), Duration::from_secs(20));
    }
}
