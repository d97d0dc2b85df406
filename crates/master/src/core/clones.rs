//! Which minions are several machines with one id and one key.
//!
//! A Halite minion says which process it is. Two processes are two minions if
//! the older one is heard for some time after the younger one began: a restart
//! leaves none of that, nor does another address, a second link of the same
//! process or a request that was late. A minion of Salt says nothing; of it one
//! knows by jobs that come back twice, from two addresses.
//!
//! Invariant: what is kept of a minion has a limit, and so has the number of
//! minions; the same minion is told of once an hour.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use halite_proto::{Jid, MinionId, Nonce};

/// How long an older process must be heard after a younger one has begun.
/// Longer than any request of a process that has ended is on its way.
const LINGER: Duration = Duration::from_secs(10);

/// Who has not been heard for so long is not there: minions ask every 20 s.
const GONE_AFTER: Duration = Duration::from_secs(90);

/// How often the same minion is told of.
const TOLD_EVERY: Duration = Duration::from_secs(3600);

/// Jobs in so long a time are looked at together.
const DOUBLES_WITHIN: Duration = Duration::from_secs(600);

/// So many of them must have come back twice: one may be a minion that was not
/// answered, and has another address when it tries again.
const DOUBLES_MIN: usize = 3;

/// Processes, and jobs, that are kept of one minion.
const KEPT_MAX: usize = 8;

/// A process of a minion.
#[derive(Debug)]
struct Process<A> {
    name: Nonce,
    address: A,
    first: Instant,
    last: Instant,
}

impl<A> Process<A> {
    /// Whether both were there at one time.
    fn is_beside(&self, other: &Self) -> bool {
        let lingers = |older: &Self, younger: &Self| {
            younger.first >= older.first && older.last >= younger.first + LINGER
        };
        lingers(self, other) || lingers(other, self)
    }
}

/// A job that has come back.
#[derive(Debug)]
struct Returned<A> {
    jid: Jid,
    at: Instant,
    address: A,
    /// From where it has come a second time.
    again: Option<A>,
}

/// What is known of one minion.
#[derive(Debug)]
struct Known<A> {
    processes: Vec<Process<A>>,
    returned: VecDeque<Returned<A>>,
    told: Option<Instant>,
}

/// What is known of all.
#[derive(Debug)]
pub struct Clones<A> {
    minions: HashMap<MinionId, Known<A>>,
    minions_max: usize,
}

/// What a process is told of others with its id and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others<A> {
    /// From where they were heard; none if there are none.
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
    /// Keeps at most so many minions; of more nothing is known.
    pub fn new(minions_max: usize) -> Self {
        Self {
            minions_max,
            minions: HashMap::new(),
        }
    }

    /// A process has proven that it has the key of `id`.
    pub fn heard(&mut self, id: &MinionId, name: &Nonce, address: A, now: Instant) -> Others<A> {
        let Some(known) = self.of(id) else {
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
        let Some(known) = self.of(id) else { return };
        if known.returned.len() >= KEPT_MAX {
            known.returned.pop_front();
        }
        known.returned.push_back(Returned {
            jid: jid.clone(),
            at: now,
            address,
            again: None,
        });
    }

    /// A job has come back once more. The addresses, if it is time to tell.
    pub fn returned_again(
        &mut self,
        id: &MinionId,
        jid: &Jid,
        address: A,
        now: Instant,
    ) -> Option<Vec<A>> {
        let known = self.minions.get_mut(id)?;
        let job = known.returned.iter_mut().find(|job| job.jid == *jid)?;
        if job.address != address {
            job.again = Some(address);
        }
        let is_late = |job: &Returned<A>| now.duration_since(job.at) <= DOUBLES_WITHIN;
        let doubles = known.returned.iter().filter(|job| is_late(job));
        let doubles: Vec<[A; 2]> = doubles
            .filter_map(|job| Some([job.address, job.again?]))
            .collect();
        if doubles.len() < DOUBLES_MIN {
            return None;
        }
        let addresses = doubles.into_iter().flatten().collect();
        known.news(now, addresses)
    }

    /// From where a minion was heard that is several; none if it is one.
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

    fn of(&mut self, id: &MinionId) -> Option<&mut Known<A>> {
        if !self.minions.contains_key(id) && self.minions.len() >= self.minions_max {
            return None;
        }
        Some(self.minions.entry(id.clone()).or_insert_with(|| Known {
            processes: Vec::new(),
            returned: VecDeque::new(),
            told: None,
        }))
    }
}

impl<A: Copy + Ord> Known<A> {
    fn here(&self, now: Instant) -> impl Iterator<Item = &Process<A>> {
        let is_here = move |process: &&Process<A>| now.duration_since(process.last) <= GONE_AFTER;
        self.processes.iter().filter(is_here)
    }

    fn take(&mut self, name: &Nonce, address: A, now: Instant) {
        self.processes
            .retain(|known| known.name == *name || now.duration_since(known.last) <= GONE_AFTER);
        if let Some(known) = self.processes.iter_mut().find(|known| known.name == *name) {
            known.last = now;
            known.address = address;
            return;
        }
        if self.processes.len() >= KEPT_MAX {
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

    /// The addresses, each once, unless they were told lately.
    fn news(&mut self, now: Instant, addresses: BTreeSet<A>) -> Option<Vec<A>> {
        let is_told = |told: Instant| now.duration_since(told) < TOLD_EVERY;
        if self.told.is_some_and(is_told) {
            return None;
        }
        self.told = Some(now);
        Some(addresses.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
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
    fn jobs_that_come_back_twice_from_two_addresses_tell_of_minions_of_salt() {
        let jid = |n: u64| Jid::parse(format!("2026112014184193974{n}")).unwrap();
        let start = Instant::now();
        let at = |n: u64| start + Duration::from_secs(n);
        let come_back = |second: u8| {
            let mut clones = Clones::new(10);
            let mut news = Vec::new();
            for n in 0..5 {
                clones.returned(&web1(), &jid(n), 1, at(n));
                news.push(clones.returned_again(&web1(), &jid(n), second, at(n)));
            }
            news
        };
        // A minion that was not answered tries again.
        assert_eq!(come_back(1), [None, None, None, None, None]);
        assert_eq!(come_back(2), [None, None, Some(vec![1, 2]), None, None]);
        // What nobody remembers says nothing.
        let mut clones = Clones::new(10);
        assert_eq!(clones.returned_again(&web1(), &jid(1), 2, at(0)), None);
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        let mut clones = Clones::new(1);
        let now = Instant::now();
        for number in 0..100 {
            clones.heard(&web1(), &process(number), number, now);
        }
        let known = clones.minions.get(&web1()).unwrap();
        assert_eq!(known.processes.len(), KEPT_MAX);
        let other = MinionId::parse("web2").unwrap();
        clones.heard(&other, &process(1), 1, now);
        assert!(!clones.minions.contains_key(&other));
    }
}
