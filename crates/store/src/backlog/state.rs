//! Which waiting write is sent to the server next, and which is set aside.
//!
//! Invariants: a write that the server does not take never blocks those behind it;
//! a write is set aside only if it was refused again after others were taken, so a
//! server that takes nothing at all causes none to be set aside.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use halite_spool::{Moment, Pending, Spool};

use crate::error::StoreError;
use crate::limits::{
    WAITING_AT_ONCE_BYTES_MAX, WAITING_AT_ONCE_MAX, WAITING_BATCHES_MAX, WAITING_BYTES_MAX,
    WAITING_REFUSALS_MAX, WAITING_REFUSED_BYTES_MAX, WAITING_REFUSED_PAUSE, WAITING_TOLD_EVERY,
};

/// The state of an entry that the server has not accepted.
#[derive(Debug)]
struct Refusal {
    /// How often it was refused although others were taken since the time before.
    strikes: usize,
    /// How many entries had been taken by then.
    taken: u64,
    /// It got no answer: others sent with it would get none either.
    is_slow: bool,
}

/// What to do with a refused entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The server may take nothing at all.
    Unproven,
    /// The server accepts others.
    Struck,
    /// The server has repeatedly accepted others: the entry is to be set aside.
    Hopeless,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) spool: Spool,
    pub(super) since: Option<(SystemTime, Instant)>,
    /// How many were stored since then.
    pub(super) stored: u64,
    pub(super) reason: Option<String>,
    /// When the log last said that something waits.
    told: Option<Instant>,
    pub(super) is_closing: bool,
    /// Most entries that wait.
    pub(super) count_max: usize,
    /// Most bytes of those that were not set aside.
    pub(super) bytes_max: u64,
    /// How many found no room.
    pub(super) turned_away: u64,
    /// How many the server has ever taken.
    taken: u64,
    /// The next batch starts after this one.
    after: u64,
    refusals: BTreeMap<u64, Refusal>,
    refused: BTreeSet<u64>,
    /// The bytes of those that were ever set aside and wait still: up to a limit they
    /// take no room from the others.
    spared: BTreeMap<u64, u64>,
    /// When the first of them was set aside.
    refused_since: Option<Instant>,
    /// The slow one that was tried last.
    slow: u64,
    /// How many batches went before the next slow one.
    batches: usize,
}

impl State {
    pub(super) fn new(
        spool: Spool,
        since: Option<(SystemTime, Instant)>,
        count_max: usize,
    ) -> Self {
        Self {
            spool,
            since,
            stored: 0,
            reason: None,
            told: None,
            is_closing: false,
            count_max,
            bytes_max: WAITING_BYTES_MAX,
            turned_away: 0,
            taken: 0,
            after: 0,
            refusals: BTreeMap::new(),
            refused: BTreeSet::new(),
            spared: BTreeMap::new(),
            refused_since: None,
            slow: 0,
            batches: 0,
        }
    }

    /// Tries entries that were set aside again when it is time; returns how long until
    /// then.
    pub(super) fn retry_refused(&mut self) -> Duration {
        let waited = self.refused_since.map(|since| since.elapsed());
        if waited.is_some_and(|waited| waited >= WAITING_REFUSED_PAUSE) {
            self.refused.clear();
            self.refusals.clear();
            self.refused_since = None;
        }
        WAITING_REFUSED_PAUSE.saturating_sub(waited.unwrap_or_default())
    }

    /// How long the store has not taken what waits, if the log is to say so now.
    pub(super) fn due_to_tell(&mut self, now: Instant) -> Option<Duration> {
        let (_, since) = self.since.filter(|_| self.has_next())?;
        let told = self.told.filter(|told| *told > since).unwrap_or(since);
        if now.saturating_duration_since(told) < WAITING_TOLD_EVERY {
            return None;
        }
        self.told = Some(now);
        Some(now.saturating_duration_since(since))
    }

    /// Whether there is room for an entry.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let spared: u64 = self.spared.values().sum();
        let spared = spared.min(WAITING_REFUSED_BYTES_MAX);
        let others = self.spool.bytes().saturating_sub(spared);
        let fits = others.saturating_add(bytes as u64) <= self.bytes_max;
        fits && self.spool.len() < self.count_max && self.spool.has_room(bytes)
    }

    /// Whether something waits that is not set aside.
    pub(super) fn has_next(&self) -> bool {
        self.spool.len() > self.refused.len()
    }

    /// How many are set aside.
    pub(super) fn refused(&self) -> usize {
        self.refused.len()
    }

    /// The next waiting entries, oldest first. An entry that got no answer goes alone,
    /// after all others, or after some if more keep coming.
    pub(super) fn next(&mut self) -> Vec<Pending> {
        self.batches += 1;
        if self.batches <= WAITING_BATCHES_MAX {
            let found = self.next_behind();
            if !found.is_empty() {
                return found;
            }
            self.after = 0;
        }
        self.batches = 0;
        match self.next_slow() {
            Some(slow) => vec![slow],
            None => self.next_behind(),
        }
    }

    fn next_behind(&mut self) -> Vec<Pending> {
        let mut found = Vec::new();
        let mut bytes = 0;
        let mut after = self.after;
        while found.len() < WAITING_AT_ONCE_MAX && bytes < WAITING_AT_ONCE_BYTES_MAX {
            let Some(pending) = self.spool.pending(Moment::now(), after, 1).pop() else {
                break;
            };
            after = pending.sequence;
            let is_slow = self.refusals.get(&after).is_some_and(|it| it.is_slow);
            if !is_slow && !self.refused.contains(&after) {
                bytes += pending.payload.len();
                found.push(pending);
            }
        }
        found
    }

    fn next_slow(&mut self) -> Option<Pending> {
        let slow = |(sequence, refusal): (&u64, &Refusal)| refusal.is_slow.then_some(*sequence);
        let behind = self.refusals.range(self.slow + 1..).find_map(slow);
        let sequence = behind.or_else(|| self.refusals.iter().find_map(slow))?;
        self.slow = sequence;
        let found = self.spool.pending(Moment::now(), sequence - 1, 1).pop();
        let found = found.filter(|found| found.sequence == sequence);
        if found.is_none() {
            self.refusals.remove(&sequence);
        }
        found
    }

    /// Records how far a batch was tried: up to the first entry for which the server
    /// could not be reached. A server that accepts entries again gets the oldest first.
    pub(super) fn pass(&mut self, batch: &[Pending], outcomes: &[Result<(), StoreError>]) {
        let is_tried = |outcome: &&Result<(), StoreError>| match outcome {
            Ok(()) => true,
            Err(error) => error.may_be_its_own_fault(),
        };
        let tried = outcomes.iter().take_while(is_tried).count();
        if let Some(last) = batch.iter().take(tried).next_back()
            && !self.is_slow(last.sequence)
        {
            self.after = last.sequence;
        }
        let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let is_first = taken > 0 && self.refusals.values().any(|it| it.taken == self.taken);
        if is_first {
            self.after = 0;
        }
        self.taken += taken as u64;
    }

    fn is_slow(&self, sequence: u64) -> bool {
        self.refusals.get(&sequence).is_some_and(|it| it.is_slow)
    }

    /// Forgets an entry that was taken.
    pub(super) fn forgive(&mut self, sequence: u64) {
        self.refusals.remove(&sequence);
        self.spared.remove(&sequence);
    }

    /// Records that an entry was refused, from a batch of which `taken` were accepted.
    pub(super) fn refuse(&mut self, sequence: u64, taken: u64, is_slow: bool) -> Verdict {
        let before = self.taken - taken;
        let refusal = self.refusals.entry(sequence).or_insert(Refusal {
            strikes: 0,
            taken: before,
            is_slow,
        });
        let is_struck = self.taken > refusal.taken;
        refusal.taken = self.taken;
        refusal.is_slow = is_slow;
        if !is_struck {
            return Verdict::Unproven;
        }
        refusal.strikes += 1;
        match refusal.strikes >= WAITING_REFUSALS_MAX {
            true => Verdict::Hopeless,
            false => Verdict::Struck,
        }
    }

    /// Sets an entry aside.
    pub(super) fn set_aside(&mut self, sequence: u64, bytes: usize) {
        self.refusals.remove(&sequence);
        self.spared.insert(sequence, bytes as u64);
        self.refused.insert(sequence);
        self.refused_since.get_or_insert_with(Instant::now);
    }
}
