//! When the jobs of an emulated minion begin, and what comes of them.

use std::sync::Arc;
use std::time::Duration;

use halite_crypto::random_bytes;
use halite_minion::minion::pace::Pace;
use halite_proto::chance::Chance;
use halite_proto::publish::PublishLoad;

use crate::plan::Work;
use crate::tally::{Tally, count};

/// How long a job of a minion that never answers waits: longer than any herd
/// lives.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// When the jobs of one minion begin.
pub(crate) struct Thinking {
    pub(crate) number: u32,
    pub(crate) work: Work,
    pub(crate) tally: Arc<Tally>,
}

impl Thinking {
    fn pause_of_job(&self) -> Duration {
        if self.work.is_silent(self.number) {
            return NEVER;
        }
        let span = self.work.think_max.saturating_sub(self.work.think_min);
        if span.is_zero() {
            return self.work.think_min;
        }
        let mut chance = Chance::new(u64::from_le_bytes(random_bytes()));
        self.work.think_min + chance.up_to(span)
    }
}

impl Pace for Thinking {
    fn pause(&self, _: &PublishLoad) -> Duration {
        self.tally.take_job();
        self.pause_of_job()
    }

    fn through(&self, acknowledged: bool) {
        count(match acknowledged {
            true => &self.tally.acknowledged,
            false => &self.tally.spooled,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minion_thinks_as_long_as_it_is_told() {
        let work = Work {
            think_min: Duration::from_millis(100),
            think_max: Duration::from_millis(300),
            state_bytes: 0,
            failing: 0.0,
            silent: 0.5,
        };
        let tally = Arc::new(Tally::default());
        let pause = |number| {
            let thinking = Thinking {
                number,
                work,
                tally: Arc::clone(&tally),
            };
            thinking.pause_of_job()
        };
        let pauses: Vec<Duration> = (0..100).map(pause).collect();
        assert_eq!(pauses.iter().filter(|pause| **pause == NEVER).count(), 50);
        let of_others = || pauses.iter().filter(|pause| **pause != NEVER);
        assert!(of_others().all(|pause| (work.think_min..=work.think_max).contains(pause)));
        assert!(of_others().min() != of_others().max());
    }
}
