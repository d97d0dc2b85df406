//! How long a run of chaos lasts, and whether enough has happened in it.

use std::time::Duration;

use anyhow::{Result, ensure};

/// What a variable of the environment says, if it says a number.
#[must_use]
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How long faults go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// For so long.
    Time(Duration),
    /// Until so many were made.
    Faults(u64),
}

/// Fewer faults in ten seconds would prove little. More come on a machine that is not
/// busy: a run that is to make so many gives up when it would have taken longer.
#[derive(Clone, Copy, Debug)]
pub struct FaultsPer10sMin(pub u64);

impl Length {
    /// As `HALITE_CHAOS_FAULTS` says, or else `HALITE_CHAOS_SECONDS`.
    #[must_use]
    pub fn from_settings(seconds_default: u64) -> Self {
        match setting("HALITE_CHAOS_FAULTS") {
            Some(faults) => Self::Faults(faults),
            None => {
                let seconds = setting("HALITE_CHAOS_SECONDS").unwrap_or(seconds_default);
                Self::Time(Duration::from_secs(seconds))
            }
        }
    }

    /// Whether no more faults are to be made, after so long and so many.
    #[must_use]
    pub fn is_over(self, lasted: Duration, faults: usize, min: FaultsPer10sMin) -> bool {
        lasted >= self.time_max(min) || matches!(self, Self::Faults(all) if faults as u64 >= all)
    }

    /// Checks that enough faults were made.
    pub fn check(self, lasted: Duration, faults: usize, min: FaultsPer10sMin) -> Result<()> {
        let wanted = match self {
            Self::Time(time) => time.as_secs() / 10 * min.0,
            Self::Faults(all) => all,
        };
        ensure!(
            faults as u64 >= wanted,
            "only {faults} faults in {lasted:.0?}, {wanted} are the least"
        );
        Ok(())
    }

    fn time_max(self, min: FaultsPer10sMin) -> Duration {
        match self {
            Self::Time(time) => time,
            Self::Faults(all) => Duration::from_secs(all.saturating_mul(10) / min.0.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: FaultsPer10sMin = FaultsPer10sMin(5);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_run_of_so_many_faults_ends_with_the_last_one_or_gives_up() {
        let length = Length::Faults(500);
        assert!(!length.is_over(seconds(999), 499, MIN));
        assert!(length.is_over(seconds(1), 500, MIN));
        assert!(length.check(seconds(1), 500, MIN).is_ok());
        assert!(length.is_over(seconds(1000), 499, MIN));
        let error = length.check(seconds(1000), 499, MIN).unwrap_err();
        assert_eq!(
            error.to_string(),
            "only 499 faults in 1000s, 500 are the least"
        );
    }

    #[test]
    fn a_run_of_so_long_makes_a_least_number_of_faults() {
        let length = Length::Time(seconds(16));
        assert!(!length.is_over(seconds(15), 1000, MIN));
        assert!(length.is_over(seconds(16), 0, MIN));
        assert!(length.check(seconds(16), 5, MIN).is_ok());
        assert!(length.check(seconds(16), 4, MIN).is_err());
    }
}
