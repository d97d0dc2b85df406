//! Jobs of one minion that have come back twice, from two addresses.
//!
//! Invariant: one machine that got no answer and repeats everything from its next
//! address does not count as two. Two machines are heard in turn.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use halite_proto::Jid;

use crate::limits::{CLONE_DOUBLES_MIN, CLONE_DOUBLES_WITHIN, CLONE_TRACES_MAX};

/// A job that has come back.
#[derive(Debug)]
struct Returned<A> {
    jid: Jid,
    at: Instant,
    address: A,
    /// Which return of the minion's this was.
    turn: u64,
    /// The address from which it came again, and the return.
    again: Option<(A, u64)>,
}

/// The last jobs of a minion.
#[derive(Debug)]
pub(super) struct Doubles<A> {
    jobs: VecDeque<Returned<A>>,
    /// How many returns were heard.
    turns: u64,
}

impl<A> Default for Doubles<A> {
    fn default() -> Self {
        Self {
            jobs: VecDeque::new(),
            turns: 0,
        }
    }
}

impl<A: Copy + Ord> Doubles<A> {
    /// A job has come back for the first time.
    pub(super) fn returned(&mut self, jid: &Jid, address: A, now: Instant) {
        self.turns += 1;
        // A resource of the minion's may have returned of the same job.
        if self.jobs.iter().any(|job| job.jid == *jid) {
            return;
        }
        if self.jobs.len() >= CLONE_TRACES_MAX {
            self.jobs.pop_front();
        }
        self.jobs.push_back(Returned {
            jid: jid.clone(),
            at: now,
            address,
            turn: self.turns,
            again: None,
        });
    }

    /// A job has come back once more. The addresses, if they are those of
    /// several machines.
    pub(super) fn returned_again(
        &mut self,
        jid: &Jid,
        address: A,
        now: Instant,
    ) -> Option<BTreeSet<A>> {
        self.turns += 1;
        let job = self.jobs.iter_mut().find(|job| job.jid == *jid)?;
        if job.address != address {
            job.again.get_or_insert((address, self.turns));
        }
        let is_late = |job: &&Returned<A>| now.duration_since(job.at) <= CLONE_DOUBLES_WITHIN;
        let doubles = self.jobs.iter().filter(is_late);
        let mut heard: Vec<(u64, A)> = doubles
            .filter_map(|job| Some((job, job.again?)))
            .flat_map(|(job, (again, turn))| [(job.turn, job.address), (turn, again)])
            .collect();
        if heard.len() < 2 * CLONE_DOUBLES_MIN {
            return None;
        }
        heard.sort_unstable();
        let mut addresses: Vec<A> = heard.into_iter().map(|(_, address)| address).collect();
        addresses.dedup();
        let distinct: BTreeSet<A> = addresses.iter().copied().collect();
        // One that is there once only was left for good.
        (distinct.len() < addresses.len()).then_some(distinct)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn jid(n: u64) -> Jid {
        Jid::parse(format!("2026112014184193974{n}")).unwrap()
    }

    /// The notification at each return, given as job and address. A return that has come
    /// before has come again.
    fn notifications(returns: &[(u64, u8)]) -> Vec<Option<Vec<u8>>> {
        let start = Instant::now();
        let mut doubles = Doubles::default();
        let mut known = BTreeSet::new();
        let mut at = 0;
        let one = |(job, address): &(u64, u8)| {
            at += 1;
            let now = start + Duration::from_secs(at);
            if known.insert(*job) {
                doubles.returned(&jid(*job), *address, now);
                return None;
            }
            let addresses = doubles.returned_again(&jid(*job), *address, now);
            addresses.map(|addresses| addresses.into_iter().collect())
        };
        returns.iter().map(one).collect()
    }

    #[test]
    fn jobs_that_come_back_twice_from_two_addresses_in_turn_are_of_two_machines() {
        let in_turn = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (3, 1)];
        let both = Some(vec![1, 2]);
        assert_eq!(
            notifications(&in_turn),
            [None, None, None, None, None, both.clone()]
        );
        // Jobs that were sent at once, and one more.
        let at_once = [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)];
        assert!(notifications(&at_once).iter().all(Option::is_none));
        let more = [&at_once[..], &[(4, 1), (4, 2)]].concat();
        assert_eq!(notifications(&more).pop(), Some(both));
    }

    #[test]
    fn a_machine_that_tries_again_or_moves_is_one() {
        // It was not answered.
        let tries: Vec<_> = (0..5).flat_map(|n| [(n, 1), (n, 1)]).collect();
        assert!(notifications(&tries).iter().all(Option::is_none));
        // It has another address when it tries again.
        let moves: Vec<_> = [1, 2]
            .into_iter()
            .flat_map(|address| (0..5).map(move |n| (n, address)))
            .collect();
        assert!(notifications(&moves).iter().all(Option::is_none));
        // What nobody remembers says nothing.
        let mut doubles = Doubles::default();
        assert_eq!(doubles.returned_again(&jid(1), 2, Instant::now()), None);
    }
}
