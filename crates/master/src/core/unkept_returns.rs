//! Results that the job cache did not take, of minions that do not bring them again. They
//! wait in memory until it does.
//!
//! Pure and bounded, in all and for each minion. Invariant: a minion's result of a job
//! waits once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId};

/// How many bytes may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BytesMax {
    pub(crate) in_all: usize,
    pub(crate) of_minion: usize,
}

/// The results that wait.
#[derive(Debug)]
pub(crate) struct UnkeptReturns {
    max: BytesMax,
    waiting: VecDeque<UnkeptReturn>,
    known: HashSet<(Jid, MinionId)>,
    bytes: usize,
    by_minion: HashMap<MinionId, usize>,
}

/// A result that waits.
#[derive(Clone, Debug)]
pub(crate) struct UnkeptReturn {
    pub(crate) jid: Jid,
    pub(crate) id: MinionId,
    pub(crate) job: Arc<JobReturn>,
    bytes: usize,
}

impl UnkeptReturns {
    pub(crate) fn new(max: BytesMax) -> Self {
        Self {
            max,
            waiting: VecDeque::new(),
            known: HashSet::new(),
            bytes: 0,
            by_minion: HashMap::new(),
        }
    }

    /// Lets a result wait; false if there is no room for it.
    pub(crate) fn add(&mut self, jid: &Jid, id: &MinionId, job: &JobReturn) -> bool {
        if self.known.contains(&(jid.clone(), id.clone())) {
            return true;
        }
        self.put(UnkeptReturn {
            jid: jid.clone(),
            id: id.clone(),
            job: Arc::new(job.clone()),
            bytes: job.packed_len() + ENTRY_BYTES,
        })
    }

    /// Takes the one out that is the next to be stored.
    pub(crate) fn take(&mut self) -> Option<UnkeptReturn> {
        let next = self.waiting.pop_front()?;
        self.known.remove(&(next.jid.clone(), next.id.clone()));
        self.bytes -= next.bytes;
        if let Some(bytes) = self.by_minion.get_mut(&next.id) {
            *bytes -= next.bytes;
            if *bytes == 0 {
                self.by_minion.remove(&next.id);
            }
        }
        Some(next)
    }

    /// One that was not stored this time either waits behind the others; false if there
    /// is no room for it any more.
    pub(crate) fn put_back(&mut self, unkept: UnkeptReturn) -> bool {
        let of = (unkept.jid.clone(), unkept.id.clone());
        self.known.contains(&of) || self.put(unkept)
    }

    /// How many results wait, and how many bytes they are.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    fn put(&mut self, unkept: UnkeptReturn) -> bool {
        let of_minion = self.by_minion.get(&unkept.id).copied().unwrap_or(0);
        let has_room = self.bytes + unkept.bytes <= self.max.in_all
            && of_minion + unkept.bytes <= self.max.of_minion;
        if has_room {
            self.bytes += unkept.bytes;
            let of_minion = self.by_minion.entry(unkept.id.clone()).or_default();
            *of_minion += unkept.bytes;
            self.known.insert((unkept.jid.clone(), unkept.id.clone()));
            self.waiting.push_back(unkept);
        }
        has_room
    }
}

/// What it costs to know of one, beside what it says.
const ENTRY_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use halite_proto::returns::ReturnJid;

    use super::*;

    const SMALL: usize = 1000;

    fn jid(n: usize) -> Jid {
        Jid::parse(format!("{n:020}")).unwrap()
    }

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn job(n: usize, result: &str) -> JobReturn {
        let jid = ReturnJid::Jid(jid(n));
        JobReturn::new(jid, "test.echo".into(), Vec::new(), result.into(), 0)
    }

    fn unkept(in_all: usize, of_minion: usize) -> UnkeptReturns {
        UnkeptReturns::new(BytesMax { in_all, of_minion })
    }

    #[test]
    fn each_result_waits_once_and_comes_out_in_order() {
        let mut unkept = unkept(10 * SMALL, 10 * SMALL);
        for n in [1, 2, 1] {
            assert!(unkept.add(&jid(n), &id("web1"), &job(n, "x")));
        }
        assert_eq!(unkept.size().0, 2);
        let first = unkept.take().unwrap();
        assert_eq!(first.jid, jid(1));
        // Behind the others, so that one that is never taken holds up nobody.
        assert!(unkept.put_back(first.clone()) && unkept.put_back(first));
        let order = [unkept.take(), unkept.take()].map(|one| one.unwrap().jid);
        assert_eq!(order, [jid(2), jid(1)]);
        assert!(unkept.take().is_none());
        assert_eq!(unkept.size(), (0, 0));
        assert!(unkept.by_minion.is_empty() && unkept.known.is_empty());
    }

    #[test]
    fn there_is_room_for_so_much_in_all_and_of_each_minion() {
        let mut unkept = unkept(3 * SMALL, 2 * SMALL);
        assert!(unkept.add(&jid(1), &id("web1"), &job(1, "x")));
        assert!(!unkept.add(&jid(2), &id("web1"), &job(2, &"x".repeat(2 * SMALL))));
        assert!(unkept.add(&jid(1), &id("web2"), &job(1, &"x".repeat(SMALL))));
        assert!(!unkept.add(&jid(1), &id("web3"), &job(1, &"x".repeat(SMALL))));
        unkept.take();
        unkept.take();
        assert!(unkept.add(&jid(1), &id("web3"), &job(1, &"x".repeat(SMALL))));
    }
}
