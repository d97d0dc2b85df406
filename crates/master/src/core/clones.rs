//! Recognises minions that are several machines with one id and one key.
//!
//! A Halite minion says which process it is. Two processes are two machines if the
//! older one is heard for some time after the younger one began. A restart never
//! looks like that, nor does another address, a second link of the same process or
//! a late request. A minion of Salt does not say this; it is recognised by jobs
//! that come back twice, from two addresses in turn.
//!
//! Invariant: the data about one minion is bounded, and so is the number of
//! minions; a minion is reported once an hour.

mod doubles;

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use halite_proto::{Jid, MinionId, Nonce};

use self::doubles::Doubles;
use crate::limits::{
    CLONE_DOUBLES_WITHIN, CLONE_GONE_AFTER, CLONE_LINGER, CLONE_TOLD_EVERY, CLONE_TRACES_MAX,
    CLONES_SWEEP_INTERVAL,
};

/// A process of a minion.
#[derive(Debug)]
struct Process<A> {
    name: Nonce,
    address: A,
    first: Instant,
    last: Instant,
}

impl<A> Process<A> {
    fn is_there(&self, now: Instant) -> bool {
        now.duration_since(self.last) <= CLONE_GONE_AFTER
    }

    /// Whether both were there at one time.
    fn is_beside(&self, other: &Self) -> bool {
        let lingers = |older: &Self, younger: &Self| {
            younger.first >= older.first && older.last >= younger.first + CLONE_LINGER
        };
        lingers(self, other) || lingers(other, self)
    }
}

/// The record of one minion.
#[derive(Debug)]
struct Known<A> {
    processes: Vec<Process<A>>,
    jobs: Doubles<A>,
    told: Option<Instant>,
    last: Instant,
}

/// The records of all minions.
#[derive(Debug)]
pub struct Clones<A> {
    minions: HashMap<MinionId, Known<A>>,
    minions_max: usize,
    /// When room was made last.
    swept: Option<Instant>,
    overflow: Overflow,
}

/// Whether a minion found no room, and that was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overflow {
    #[default]
    No,
    Unsaid,
    Said,
}

/// The other processes with the id and key of one, as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others<A> {
    /// Their addresses; empty if there are no others.
    pub addresses: Vec<A>,
    /// Whether it is time to tell of it: all addresses of the minion.
    pub news: Option<Vec<A>>,
}

impl<A> Default for Others<A> {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            news: None,
        }
    }
}

impl<A: Copy + Ord> Clones<A> {
    /// Tracks at most this many minions. Beyond it, those that were silent for
    /// `CLONE_DOUBLES_WITHIN` are dropped; further minions are not tracked.
    pub fn new(minions_max: usize) -> Self {
        Self {
            minions_max,
            minions: HashMap::new(),
            swept: None,
            overflow: Overflow::No,
        }
    }

    /// Forgets a minion whose key was removed.
    pub fn forget(&mut self, id: &MinionId) {
        self.minions.remove(id);
    }

    /// Whether to warn that there is no room for further minions: once, until there was
    /// room again.
    pub fn take_overflow(&mut self) -> bool {
        let is_news = self.overflow == Overflow::Unsaid;
        if is_news {
            self.overflow = Overflow::Said;
        }
        is_news
    }

    /// A process has proven that it has the key of `id`.
    pub fn heard(&mut self, id: &MinionId, name: &Nonce, address: A, now: Instant) -> Others<A> {
        let Some(known) = self.known_or_new(id, now) else {
            return Others::default();
        };
        known.take(name, address, now);
        let Some(heard) = known.processes.iter().find(|known| known.name == *name) else {
            return Others::default();
        };
        let others = known.processes.iter();
        let others = others.filter(|other| other.name != *name && heard.is_beside(other));
        let addresses: Vec<A> = others.map(|other| other.address).collect();
        let news = match addresses.is_empty() {
            true => None,
            false => known.news(now, addresses.iter().copied().chain([address]).collect()),
        };
        Others { addresses, news }
    }

    /// A job has come back for the first time.
    pub fn returned(&mut self, id: &MinionId, jid: &Jid, address: A, now: Instant) {
        let Some(known) = self.known_or_new(id, now) else {
            return;
        };
        known.jobs.returned(jid, address, now);
    }

    /// A job has come back once more. The addresses, if it is time to tell. A
    /// minion whose processes are known is judged by those alone.
    pub fn returned_again(
        &mut self,
        id: &MinionId,
        jid: &Jid,
        address: A,
        now: Instant,
    ) -> Option<Vec<A>> {
        let known = self.minions.get_mut(id)?;
        known.last = now;
        let addresses = known.jobs.returned_again(jid, address, now)?;
        match known.processes.is_empty() {
            true => known.news(now, addresses),
            false => None,
        }
    }

    /// The addresses of a minion that is several machines; empty if it is one.
    pub fn addresses(&self, id: &MinionId, now: Instant) -> Vec<A> {
        let Some(known) = self.minions.get(id) else {
            return Vec::new();
        };
        let here: Vec<&Process<A>> = known.here(now).collect();
        let is_cloned = |process: &&&Process<A>| {
            let mut others = here.iter();
            others.any(|other| other.name != process.name && other.is_beside(process))
        };
        let cloned = here.iter().filter(is_cloned);
        cloned.map(|process| process.address).collect()
    }

    /// Whether a minion may be several machines: more than one process of it is there.
    pub fn is_doubtful(&self, id: &MinionId, now: Instant) -> bool {
        let known = self.minions.get(id);
        known.is_some_and(|known| known.here(now).nth(1).is_some())
    }

    fn known_or_new(&mut self, id: &MinionId, now: Instant) -> Option<&mut Known<A>> {
        if !self.minions.contains_key(id) && !self.has_room(now) {
            return None;
        }
        let known = self.minions.entry(id.clone()).or_insert_with(|| Known {
            processes: Vec::new(),
            jobs: Doubles::default(),
            told: None,
            last: now,
        });
        known.last = now;
        Some(known)
    }

    /// Whether there is room for one more minion; makes some if need be.
    fn has_room(&mut self, now: Instant) -> bool {
        let is_full = self.minions.len() >= self.minions_max;
        let is_swept = |swept: Instant| now.duration_since(swept) < CLONES_SWEEP_INTERVAL;
        if is_full && !self.swept.is_some_and(is_swept) {
            self.swept = Some(now);
            self.minions
                .retain(|_, known| now.duration_since(known.last) <= CLONE_DOUBLES_WITHIN);
        }
        let has_room = self.minions.len() < self.minions_max;
        self.overflow = match (has_room, self.overflow) {
            (true, _) => Overflow::No,
            (false, Overflow::No) => Overflow::Unsaid,
            (false, said) => said,
        };
        has_room
    }
}

impl<A: Copy + Ord> Known<A> {
    fn here(&self, now: Instant) -> impl Iterator<Item = &Process<A>> {
        self.processes
            .iter()
            .filter(move |known| known.is_there(now))
    }

    fn take(&mut self, name: &Nonce, address: A, now: Instant) {
        self.processes
            .retain(|known| known.name == *name || known.is_there(now));
        if let Some(known) = self.processes.iter_mut().find(|known| known.name == *name) {
            known.last = now;
            known.address = address;
            return;
        }
        if self.processes.len() >= CLONE_TRACES_MAX {
            let last = |(_, process): &(usize, &Process<A>)| process.last;
            let silent = self.processes.iter().enumerate().min_by_key(last);
            if let Some((at, _)) = silent {
                self.processes.remove(at);
            }
        }
        self.processes.push(Process {
            name: name.clone(),
            address,
            first: now,
            last: now,
        });
    }

    /// The addresses, each once, unless they were reported lately.
    fn news(&mut self, now: Instant, addresses: BTreeSet<A>) -> Option<Vec<A>> {
        let is_told = |told: Instant| now.duration_since(told) < CLONE_TOLD_EVERY;
        if self.told.is_some_and(is_told) {
            return None;
        }
        self.told = Some(now);
        Some(addresses.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    fn process(number: u8) -> Nonce {
        Nonce::from_random([number; 16])
    }

    /// Hears processes, each from an address of its own, at these seconds, and
    /// says who was told of others, and when it was news.
    fn hear(clones: &mut Clones<u8>, heard: &[(u64, u8)]) -> (Vec<(u64, u8)>, Vec<u64>) {
        let start = Instant::now();
        let (mut told, mut news) = (Vec::new(), Vec::new());
        for (at_s, number) in heard {
            let now = start + Duration::from_secs(*at_s);
            let others = clones.heard(&web1(), &process(*number), *number, now);
            if !others.addresses.is_empty() {
                told.push((*at_s, *number));
            }
            if others.news.is_some() {
                news.push(*at_s);
            }
        }
        (told, news)
    }

    #[test]
    fn two_that_are_there_at_once_are_told_of_each_other() {
        let mut clones = Clones::new(10);
        let heard = [(0, 1), (5, 2), (7, 2), (20, 1), (27, 2), (40, 1)];
        let (told, news) = hear(&mut clones, &heard);
        assert_eq!(told, [(20, 1), (27, 2), (40, 1)]);
        assert_eq!(news, [20]);
        // It is said again after an hour, if it is still so.
        let later: Vec<(u64, u8)> = (0..200)
            .map(|n| (n * 20, 1 + u8::from(n % 2 == 1)))
            .collect();
        assert_eq!(hear(&mut Clones::new(10), &later).1, [40, 3640]);
    }

    #[test]
    fn the_addresses_of_a_clone_are_those_of_all_who_are_there() {
        let mut clones = Clones::new(10);
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        for (s, number) in [(0, 1), (5, 2), (20, 1)] {
            clones.heard(&web1(), &process(number), number, at(s));
        }
        assert_eq!(clones.addresses(&web1(), at(21)), [1, 2]);
        assert!(clones.addresses(&web1(), at(200)).is_empty());
    }

    #[test]
    fn a_restart_a_late_request_and_another_address_are_no_clones() {
        // Restarts; the last word of the first one is late.
        let restarts = [
            (0, 1),
            (20, 1),
            (22, 2),
            (24, 2),
            (25, 1),
            (42, 2),
            (60, 3),
            (80, 3),
        ];
        let (told, _) = hear(&mut Clones::new(10), &restarts);
        assert!(told.is_empty(), "{told:?}");
        let mut clones = Clones::new(10);
        let start = Instant::now();
        for n in 0..100_u64 {
            let now = start + Duration::from_secs(n * 20);
            let address = u8::from(n % 2 == 0);
            let others = clones.heard(&web1(), &process(1), address, now);
            assert_eq!(others, Others::default());
        }
    }

    #[test]
    fn the_doubles_of_a_halite_minion_are_its_own_tries() {
        let mut clones = Clones::new(10);
        let now = Instant::now();
        clones.heard(&web1(), &process(1), 1, now);
        for n in 0..8 {
            let jid = Jid::parse(format!("2026112014184193974{n}")).unwrap();
            clones.returned(&web1(), &jid, 1, now);
            assert_eq!(clones.returned_again(&web1(), &jid, 2, now), None);
        }
    }

    #[test]
    fn who_is_silent_makes_room_and_a_lack_of_it_is_said_once() {
        let id = |n: usize| MinionId::parse(format!("web{n}")).unwrap();
        let mut clones = Clones::new(2);
        let start = Instant::now();
        let hear = |clones: &mut Clones<u8>, n: usize, seconds| {
            let now = start + Duration::from_secs(seconds);
            clones.heard(&id(n), &process(1), 1, now);
            (clones.minions.contains_key(&id(n)), clones.take_overflow())
        };
        assert_eq!(hear(&mut clones, 1, 0), (true, false));
        assert_eq!(hear(&mut clones, 2, 500), (true, false));
        assert_eq!(hear(&mut clones, 3, 500), (false, true));
        assert_eq!(hear(&mut clones, 3, 600), (false, false));
        // The first one was silent for so long.
        assert_eq!(hear(&mut clones, 3, 700), (true, false));
        assert_eq!(hear(&mut clones, 4, 700), (false, true));
        clones.forget(&id(2));
        assert_eq!(hear(&mut clones, 4, 700), (true, false));
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        let mut clones = Clones::new(1);
        let now = Instant::now();
        for number in 0..100 {
            clones.heard(&web1(), &process(number), number, now);
        }
        let known = clones.minions.get(&web1()).unwrap();
        assert_eq!(known.processes.len(), CLONE_TRACES_MAX);
        let other = MinionId::parse("web2").unwrap();
        clones.heard(&other, &process(1), 1, now);
        assert!(!clones.minions.contains_key(&other));
    }
}
