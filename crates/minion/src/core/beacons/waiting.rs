//! Events of beacons that wait for a master.
//!
//! An event must reach each master that was connected when it was fired; or the
//! first master that connects, if none was, or if all of those are gone without it.
//! Pure: the time is an argument. Invariants: a master gets its events in order,
//! and none again that it has acknowledged. An event that may have arrived is sent
//! again with the same batch, so that a master can recognise it, or as often as the
//! limits allow. The memory is bounded, and the oldest event is dropped first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use halite_proto::msgpack::{Reading, pack_modern, unpack_prefix};
use halite_proto::request::BATCHES_MAX;
use halite_proto::{PackError, Value};

/// Memory of a batch beside its packed events, at most or a little more.
const BATCH_BYTES: usize = 256;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all events that are kept. Those on their way may be more.
    pub bytes_max: usize,
    /// How long one may wait.
    pub age_max: Duration,
    /// Packed bytes that go in one request; a batch that is larger goes alone.
    pub request_bytes_max: usize,
    /// How often a master is asked to take what it refuses, or what it may have
    /// without knowing it again.
    pub tries_max: u32,
}

/// Batches on their way in one request.
#[derive(Debug, PartialEq)]
pub struct Parcel {
    /// Their numbers.
    pub numbers: Vec<u64>,
    /// Their events.
    pub events: Vec<Value>,
}

/// Why a master has not answered for a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing was sent.
    NotSent,
    /// It may have arrived.
    InDoubt {
        /// The master would know it again, and not tell of it twice.
        is_known_again: bool,
    },
    /// The master did not want it, or its answer makes no sense.
    Refused,
    /// It cannot be sent, and never will.
    Never,
}

/// Events that no master has answered for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untold {
    /// No master can have these.
    pub surely: usize,
    /// A master may have these.
    pub perhaps: usize,
}

/// How a batch fares with one master.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    is_on_its_way: bool,
    /// Failures that count.
    tries: u32,
    /// The last request in which it may have arrived. Events with the same one arrived
    /// together or not at all.
    in_doubt_with: Option<u64>,
    /// It is sent in a request of its own, because one that held it was refused.
    is_alone: bool,
    is_given_up: bool,
}

/// Events that were seen together.
#[derive(Debug)]
struct Batch {
    number: u64,
    seen: Duration,
    /// Packed, one after the other.
    packed: Box<[u8]>,
    events: usize,
    /// The masters that are to have it.
    owed: BTreeSet<usize>,
    /// A master has it.
    is_told: bool,
    carried: BTreeMap<usize, Carried>,
}

impl Batch {
    fn bytes(&self) -> usize {
        self.packed.len() + BATCH_BYTES
    }

    fn to(&self, master: usize) -> Carried {
        self.carried.get(&master).copied().unwrap_or_default()
    }

    fn is_on_its_way(&self) -> bool {
        self.carried.values().any(|carried| carried.is_on_its_way)
    }

    /// Whether none of this many masters needs it any more.
    fn is_done(&self, masters: usize) -> bool {
        let given_up = || self.carried.values().filter(|to| to.is_given_up).count();
        let is_told = self.is_told && self.owed.is_empty();
        !self.is_on_its_way() && (is_told || given_up() >= masters)
    }

    /// Whether this master may have it now.
    fn is_for(&self, master: usize, is_ready: &impl Fn(usize) -> bool) -> bool {
        let to = self.to(master);
        if to.is_on_its_way || to.is_given_up {
            return false;
        }
        let is_nobodys = || {
            let is_gone = |owed: &usize| !is_ready(*owed);
            !self.is_told && !self.is_on_its_way() && self.owed.iter().all(is_gone)
        };
        self.owed.contains(&master) || is_nobodys()
    }

    fn add_events_to(&self, events: &mut Vec<Value>) {
        let mut rest = &*self.packed;
        while let Ok(Some((event, len))) = unpack_prefix(rest, Reading::Modern) {
            events.push(event);
            rest = rest.get(len..).unwrap_or_default();
        }
    }

    fn count_untold(&self, untold: &mut Untold) {
        let may_be_there = |to: &Carried| to.is_on_its_way || to.in_doubt_with.is_some();
        if self.is_told {
        } else if self.carried.values().any(may_be_there) {
            untold.perhaps += self.events;
        } else {
            untold.surely += self.events;
        }
    }
}

/// The events that wait.
#[derive(Debug)]
pub struct Waiting {
    bounds: Bounds,
    masters: usize,
    batches: VecDeque<Batch>,
    bytes: usize,
    next: u64,
    /// Requests of which it is not known whether they arrived.
    doubts: u64,
    lost: Untold,
}

impl Waiting {
    /// No events yet, for this many masters.
    pub fn new(bounds: Bounds, masters: usize) -> Self {
        Self {
            bounds,
            masters,
            batches: VecDeque::new(),
            bytes: 0,
            next: 0,
            doubts: 0,
            lost: Untold::default(),
        }
    }

    /// The events that wait and no master has answered for.
    pub fn untold(&self) -> Untold {
        let mut untold = Untold::default();
        for batch in &self.batches {
            batch.count_untold(&mut untold);
        }
        untold
    }

    /// Whether there are such.
    pub fn has_untold(&self) -> bool {
        self.batches.iter().any(|batch| !batch.is_told)
    }

    /// The events dropped since the last call.
    pub fn take_lost(&mut self) -> Untold {
        std::mem::take(&mut self.lost)
    }

    /// Adds new events, for the masters that are connected. `now` counts from any fixed
    /// moment.
    ///
    /// # Errors
    /// When there is an event that cannot be packed: it is lost, and no other.
    pub fn put(
        &mut self,
        now: Duration,
        events: &[Value],
        there: BTreeSet<usize>,
    ) -> Result<(), PackError> {
        self.expire(now);
        let mut packed = Vec::new();
        let mut count = 0;
        let mut result = Ok(());
        for event in events {
            match pack_modern(event) {
                Ok(event) => {
                    packed.extend(event);
                    count += 1;
                }
                Err(error) => {
                    self.lost.surely += 1;
                    result = Err(error);
                }
            }
        }
        if count == 0 {
            return result;
        }
        let batch = Batch {
            number: self.next,
            seen: now,
            packed: packed.into(),
            events: count,
            owed: there,
            is_told: false,
            carried: BTreeMap::new(),
        };
        while self.bytes + batch.bytes() > self.bounds.bytes_max
            && let Some(oldest) = self.batches.iter().position(|b| !b.is_on_its_way())
        {
            self.lose(oldest);
        }
        self.next += 1;
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
        result
    }

    /// Drops what is too old, but for what is on its way.
    fn expire(&mut self, now: Duration) {
        let is_old = |seen: Duration| now.saturating_sub(seen) > self.bounds.age_max;
        let old = self.batches.partition_point(|batch| is_old(batch.seen));
        for at in (0..old).rev() {
            if !self.batches.get(at).is_some_and(Batch::is_on_its_way) {
                self.lose(at);
            }
        }
    }

    fn remove(&mut self, at: usize) -> Option<Batch> {
        let removed = self.batches.remove(at)?;
        self.bytes -= removed.bytes();
        Some(removed)
    }

    fn lose(&mut self, at: usize) {
        if let Some(lost) = self.remove(at) {
            lost.count_untold(&mut self.lost);
        }
    }

    /// The oldest events that this master may have, as many as go in one
    /// request. They are on their way from now on. `is_ready` tells which
    /// masters are there.
    pub fn next_for(
        &mut self,
        now: Duration,
        master: usize,
        is_ready: impl Fn(usize) -> bool,
    ) -> Option<Parcel> {
        self.expire(now);
        let mut parcel = Parcel {
            numbers: Vec::new(),
            events: Vec::new(),
        };
        let mut bytes = 0;
        let mut with = None;
        let batches = self.batches.iter_mut();
        for batch in batches.filter(|batch| batch.is_for(master, &is_ready)) {
            let to = batch.carried.entry(master).or_default();
            bytes += batch.packed.len();
            let is_first = parcel.numbers.is_empty();
            let fits = bytes <= self.bounds.request_bytes_max
                && parcel.numbers.len() < BATCHES_MAX
                && with == Some(to.in_doubt_with)
                && !to.is_alone;
            if !is_first && !fits {
                break;
            }
            with = Some(to.in_doubt_with);
            to.is_on_its_way = true;
            let is_alone = to.is_alone;
            parcel.numbers.push(batch.number);
            batch.add_events_to(&mut parcel.events);
            if is_alone {
                break;
            }
        }
        (!parcel.numbers.is_empty()).then_some(parcel)
    }

    /// Whether any of these masters may have something, or it is on its way.
    pub fn is_busy(&self, ready: &BTreeSet<usize>) -> bool {
        let is_ready = |master| ready.contains(&master);
        let is_busy = |batch: &Batch, master| {
            batch.to(master).is_on_its_way || batch.is_for(master, &is_ready)
        };
        let mut batches = self.batches.iter();
        batches.any(|batch| ready.iter().any(|master| is_busy(batch, *master)))
    }

    /// A master has answered for them.
    pub fn arrived(&mut self, numbers: &[u64], master: usize) {
        for number in numbers {
            let Some(at) = self.at(*number) else {
                continue;
            };
            let batch = &mut self.batches[at];
            batch.carried.remove(&master);
            batch.owed.remove(&master);
            batch.is_told = true;
            if batch.is_done(self.masters) {
                self.remove(at);
            }
        }
    }

    /// A master has not. How many events it is not asked to take any more is
    /// returned.
    pub fn failed(&mut self, numbers: &[u64], master: usize, failure: Failure) -> usize {
        self.doubts += 1;
        let is_joined = numbers.len() > 1;
        let mut given_up = 0;
        for number in numbers {
            let Some(at) = self.at(*number) else {
                continue;
            };
            let batch = &mut self.batches[at];
            let to = batch.carried.entry(master).or_default();
            to.is_on_its_way = false;
            match failure {
                Failure::NotSent => {}
                // It may be the fault of another one.
                Failure::Refused | Failure::Never if is_joined => to.is_alone = true,
                Failure::InDoubt { is_known_again } => {
                    to.in_doubt_with = Some(self.doubts);
                    to.tries += u32::from(!is_known_again);
                }
                Failure::Refused => to.tries += 1,
                Failure::Never => to.tries = self.bounds.tries_max,
            }
            if to.tries >= self.bounds.tries_max {
                to.is_given_up = true;
                batch.owed.remove(&master);
                given_up += batch.events;
            }
            if batch.is_done(self.masters) {
                self.lose(at);
            }
        }
        given_up
    }

    fn at(&self, number: u64) -> Option<usize> {
        let found = self.batches.binary_search_by_key(&number, |b| b.number);
        found.ok()
    }
}

#[cfg(test)]
mod tests;
