//! Results that the job cache did not take, of minions that do not bring them again. They
//! wait in memory until it does.
//!
//! Pure and bounded, in all and for each minion. Invariants: a minion's result of a job
//! waits once; it waits packed, as decoded values take up to thirty times as much.

use std::collections::{HashMap, HashSet, VecDeque};

use halite_proto::msgpack::{pack_modern, unpack_modern};
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId, Value};

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
    /// Whose result it is: the minion's, or that of a resource of it.
    pub(crate) id: MinionId,
    /// The minion that has brought it.
    minion: MinionId,
    packed: Vec<u8>,
}

impl UnkeptReturn {
    /// What its minion has said.
    pub(crate) fn job(&self) -> Option<JobReturn> {
        match unpack_modern(&self.packed).ok()? {
            Value::Map(map) => JobReturn::from_map(map).ok(),
            _ => None,
        }
    }

    const fn bytes(&self) -> usize {
        self.packed.len() + ENTRY_BYTES
    }
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

    /// Adds a result that `minion` has sent; false if there is no room for it.
    pub(crate) fn add(
        &mut self,
        jid: &Jid,
        id: &MinionId,
        minion: &MinionId,
        job: &JobReturn,
    ) -> bool {
        if self.known.contains(&(jid.clone(), id.clone())) {
            return true;
        }
        // Nothing is copied that there is no room for.
        if !self.has_room(minion, job.packed_len() + ENTRY_BYTES) {
            return false;
        }
        let Ok(packed) = pack_modern(&job.to_map().into()) else {
            return false;
        };
        self.put(UnkeptReturn {
            jid: jid.clone(),
            id: id.clone(),
            minion: minion.clone(),
            packed,
        })
    }

    /// Removes and returns the next one to be stored.
    pub(crate) fn take(&mut self) -> Option<UnkeptReturn> {
        let next = self.waiting.pop_front()?;
        self.known.remove(&(next.jid.clone(), next.id.clone()));
        self.bytes -= next.bytes();
        if let Some(bytes) = self.by_minion.get_mut(&next.minion) {
            *bytes -= next.bytes();
            if *bytes == 0 {
                self.by_minion.remove(&next.minion);
            }
        }
        Some(next)
    }

    /// Puts back a result that could not be stored, behind the others; false if there is
    /// no room for it any more.
    pub(crate) fn put_back(&mut self, unkept: UnkeptReturn) -> bool {
        let of = (unkept.jid.clone(), unkept.id.clone());
        self.known.contains(&of) || self.put(unkept)
    }

    /// How many results wait, and how many bytes they are.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    fn has_room(&self, minion: &MinionId, bytes: usize) -> bool {
        let of_minion = self.by_minion.get(minion).copied().unwrap_or(0);
        self.bytes + bytes <= self.max.in_all && of_minion + bytes <= self.max.of_minion
    }

    fn put(&mut self, unkept: UnkeptReturn) -> bool {
        let has_room = self.has_room(&unkept.minion, unkept.bytes());
        if has_room {
            self.bytes += unkept.bytes();
            let of_minion = self.by_minion.entry(unkept.minion.clone()).or_default();
            *of_minion += unkept.bytes();
            self.known.insert((unkept.jid.clone(), unkept.id.clone()));
            self.waiting.push_back(unkept);
        }
        has_room
    }
}

/// Memory of a result beside its content.
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

    fn add(unkept: &mut UnkeptReturns, n: usize, name: &str, job: &JobReturn) -> bool {
        unkept.add(&jid(n), &id(name), &id(name), job)
    }

    #[test]
    fn each_result_waits_once_and_comes_out_in_order() {
        let mut unkept = unkept(10 * SMALL, 10 * SMALL);
        for n in [1, 2, 1] {
            assert!(add(&mut unkept, n, "web1", &job(n, "x")));
        }
        assert_eq!(unkept.size().0, 2);
        let first = unkept.take().unwrap();
        assert_eq!(first.jid, jid(1));
        assert_eq!(first.job().as_ref(), Some(&job(1, "x")));
        // Behind the others, so that one that is never taken holds up nobody.
        assert!(unkept.put_back(first.clone()) && unkept.put_back(first));
        let order = [unkept.take(), unkept.take()].map(|one| one.unwrap().jid);
        assert_eq!(order, [jid(2), jid(1)]);
        assert!(unkept.take().is_none());
        assert_eq!(unkept.size(), (0, 0));
        assert!(unkept.by_minion.is_empty() && unkept.known.is_empty());
    }

    #[test]
    fn the_results_of_resources_take_the_room_of_their_minion() {
        let mut unkept = unkept(10 * SMALL, 2 * SMALL);
        let of = |n: usize| id(&format!("resource{n}"));
        let large = |n| job(n, &"x".repeat(SMALL / 2));
        assert!(unkept.add(&jid(1), &of(1), &id("web1"), &large(1)));
        assert!(!unkept.add(&jid(1), &of(2), &id("web1"), &large(1)));
        assert!(unkept.add(&jid(1), &of(3), &id("web2"), &large(1)));
    }

    #[test]
    fn there_is_room_for_so_much_in_all_and_of_each_minion() {
        let mut unkept = unkept(3 * SMALL, 2 * SMALL);
        assert!(add(&mut unkept, 1, "web1", &job(1, "x")));
        assert!(!add(
            &mut unkept,
            2,
            "web1",
            &job(2, &"x".repeat(2 * SMALL))
        ));
        assert!(add(&mut unkept, 1, "web2", &job(1, &"x".repeat(SMALL))));
        assert!(!add(&mut unkept, 1, "web3", &job(1, &"x".repeat(SMALL))));
        unkept.take();
        unkept.take();
        assert!(add(&mut unkept, 1, "web3", &job(1, &"x".repeat(SMALL))));
    }
}
