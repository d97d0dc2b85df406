//! The lists of minions that grow with the returns of their jobs.
//!
//! Of a job that another master has published, a master knows only the minions that
//! have returned. Writing the whole list at each return would cost too much, so it
//! is written when it has grown by a part of itself: all writes together are a few
//! times as long as the last. Only Salt's own programs rely on the list alone. They
//! may see the last eighth late, and after a crash never; ours look which minions
//! have returned.

use std::collections::{BTreeMap, BTreeSet};

use halite_proto::{Jid, MinionId};

use crate::limits::GROWING_LISTS_MAX;

/// A list is written when this part of it is new.
const PART_NEW: usize = 8;

/// Minions that belong to the list of a job.
pub(super) type SeenOf = (Jid, BTreeSet<MinionId>);

/// The lists of the newest jobs.
#[derive(Debug, Default)]
pub(super) struct SeenMinions {
    jobs: BTreeMap<Jid, Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The job's minions that are not in its file.
    unwritten: BTreeSet<MinionId>,
    /// How many are.
    written: usize,
}

impl SeenMinions {
    /// Adds a minion to the list of its job; returns what to write now, if anything.
    pub(super) fn add(&mut self, jid: &Jid, id: &MinionId) -> Vec<SeenOf> {
        let seen = self.jobs.entry(jid.clone()).or_default();
        seen.unwritten.insert(id.clone());
        let mut due = Vec::new();
        if seen.unwritten.len() * PART_NEW > seen.written {
            seen.written += seen.unwritten.len();
            due.push((jid.clone(), std::mem::take(&mut seen.unwritten)));
        }
        // The oldest grows no more, most likely.
        if self.jobs.len() > GROWING_LISTS_MAX
            && let Some((jid, seen)) = self.jobs.pop_first()
            && !seen.unwritten.is_empty()
        {
            due.push((jid, seen.unwritten));
        }
        due
    }

    /// All that is not written yet.
    pub(super) fn take_all(&mut self) -> Vec<SeenOf> {
        let all = std::mem::take(&mut self.jobs).into_iter();
        all.map(|(jid, seen)| (jid, seen.unwritten))
            .filter(|(_, unwritten)| !unwritten.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::time::jid_from_micros;

    use super::*;

    fn id(number: usize) -> MinionId {
        MinionId::parse(format!("web{number}")).unwrap()
    }

    #[test]
    fn a_long_list_is_written_seldom_and_nobody_is_left_out() {
        const MINIONS: usize = 10_000;
        let mut seen = SeenMinions::default();
        let jid = jid_from_micros(1);
        let (mut file, mut writes, mut bytes) = (BTreeSet::new(), 0, 0);
        for number in 0..MINIONS {
            for (_, new) in seen.add(&jid, &id(number)) {
                file.extend(new);
                writes += 1;
                bytes += file.len();
            }
            assert!(file.len() + file.len() / PART_NEW + 1 > number);
        }
        assert!(bytes < MINIONS * (PART_NEW + 3), "{writes} writes, {bytes}");
        for (_, new) in seen.take_all() {
            file.extend(new);
        }
        assert_eq!(file.len(), MINIONS);
        assert!(seen.take_all().is_empty());
    }

    #[test]
    fn the_oldest_job_is_written_when_there_are_too_many() {
        let mut seen = SeenMinions::default();
        let mut of_others = Vec::new();
        for number in 0..=GROWING_LISTS_MAX {
            let jid = jid_from_micros(number as u64);
            // The last of them is not due.
            for minion in 0..=PART_NEW {
                let due = seen.add(&jid, &id(minion)).into_iter();
                of_others.extend(due.filter(|(due, _)| *due != jid));
            }
        }
        let oldest = (jid_from_micros(0), BTreeSet::from([id(PART_NEW)]));
        assert_eq!(of_others, [oldest]);
        assert_eq!(seen.jobs.len(), GROWING_LISTS_MAX);
    }
}
