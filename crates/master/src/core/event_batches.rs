//! Which batches of events minions have sent: one whose answer was lost comes
//! again, and is not fired again.
//!
//! Pure and bounded. Invariant: a batch is recognised only for the same process of
//! the same minion; a forgotten batch is fired again.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use halite_proto::request::Batches;
use halite_proto::{MinionId, Nonce};

/// Runs of numbers that are remembered of one minion. Of more the lowest are
/// forgotten: a minion carries the oldest first.
pub const RUNS_MAX: usize = 64;

/// Minions that are remembered. For one more all are forgotten.
pub const MINIONS_MAX: usize = 100_000;

/// What each minion has sent.
#[derive(Debug, Default)]
pub struct EventBatches {
    minions: HashMap<MinionId, OfMinion>,
}

/// What one minion has sent.
#[derive(Debug)]
struct OfMinion {
    process: Nonce,
    /// Sorted, with gaps between them.
    runs: Vec<RangeInclusive<u64>>,
}

impl EventBatches {
    /// Records the batches of a request; returns whether any of them is new.
    pub fn first_seen(&mut self, id: &MinionId, batches: &Batches) -> bool {
        if self.minions.len() >= MINIONS_MAX && !self.minions.contains_key(id) {
            self.minions.clear();
        }
        let known = self.minions.entry(id.clone()).or_insert_with(|| OfMinion {
            process: batches.process.clone(),
            runs: Vec::new(),
        });
        if known.process != batches.process {
            known.process = batches.process.clone();
            known.runs.clear();
        }
        let mut first_seen = batches.numbers.is_empty();
        for number in &batches.numbers {
            first_seen |= known.insert(*number);
        }
        let too_many = known.runs.len().saturating_sub(RUNS_MAX);
        known.runs.drain(..too_many);
        first_seen
    }
}

impl OfMinion {
    /// Whether the number is new.
    fn insert(&mut self, number: u64) -> bool {
        let at = self.runs.partition_point(|run| *run.end() < number);
        if self.runs.get(at).is_some_and(|run| run.contains(&number)) {
            return false;
        }
        let before = at
            .checked_sub(1)
            .and_then(|before| self.runs.get(before))
            .filter(|run| run.end().checked_add(1) == Some(number));
        let after = self.runs.get(at);
        let after = after.filter(|run| number.checked_add(1) == Some(*run.start()));
        match (before.cloned(), after.cloned()) {
            (Some(before), Some(after)) => {
                self.runs
                    .splice(at - 1..=at, [*before.start()..=*after.end()]);
            }
            (Some(before), None) => {
                self.runs.splice(at - 1..at, [*before.start()..=number]);
            }
            (None, Some(after)) => {
                self.runs.splice(at..=at, [number..=*after.end()]);
            }
            (None, None) => self.runs.insert(at, number..=number),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> MinionId {
        MinionId::parse(id).unwrap()
    }

    fn batches(process: u8, numbers: impl IntoIterator<Item = u64>) -> Batches {
        Batches {
            process: Nonce::from_random([process; 16]),
            numbers: numbers.into_iter().collect(),
        }
    }

    #[test]
    fn what_comes_again_is_no_news() {
        let mut heard = EventBatches::default();
        let web1 = id("web1");
        assert!(heard.first_seen(&web1, &batches(1, [0, 1, 4])));
        assert!(!heard.first_seen(&web1, &batches(1, [0, 1, 4])));
        assert!(!heard.first_seen(&web1, &batches(1, [1])), "a part of it");
        assert!(heard.first_seen(&web1, &batches(1, [2])));
        assert!(heard.first_seen(&web1, &batches(1, [3])));
        assert_eq!(heard.minions[&web1].runs, [0..=4]);
        assert!(heard.first_seen(&web1, &batches(1, [7, 6, u64::MAX])));
        assert_eq!(
            heard.minions[&web1].runs,
            [0..=4, 6..=7, u64::MAX..=u64::MAX]
        );
        assert!(heard.first_seen(&id("web2"), &batches(1, [0])), "another's");
    }

    #[test]
    fn another_process_begins_anew() {
        let mut heard = EventBatches::default();
        assert!(heard.first_seen(&id("web1"), &batches(1, [0])));
        assert!(heard.first_seen(&id("web1"), &batches(2, [0])));
        assert!(!heard.first_seen(&id("web1"), &batches(2, [0])));
    }

    #[test]
    fn it_is_bounded() {
        let mut heard = EventBatches::default();
        let web1 = id("web1");
        for number in 0..200 {
            assert!(heard.first_seen(&web1, &batches(1, [2 * number])));
        }
        assert_eq!(heard.minions[&web1].runs.len(), RUNS_MAX);
        assert!(!heard.first_seen(&web1, &batches(1, [398])));
        assert!(heard.first_seen(&web1, &batches(1, [0])), "forgotten");
    }
}
