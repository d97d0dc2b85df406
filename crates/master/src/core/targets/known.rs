//! Data of minions that is read while a target is resolved, and its cost.
//!
//! Invariant: nothing is read that the target does not ask for.

use std::cell::{Cell, OnceCell};
use std::time::Duration;

use halite_proto::{Map, MinionId};
use halite_store::Parts;
use halite_target::Subject;

use super::Minions;
use crate::limits::TARGET_TIME_MAX;

/// The processor time that a target has cost. Reading the data of ten thousand minions
/// takes a second if it was not read before, whatever the target is, so reading has a
/// limit of its own.
pub(super) struct Spent<'a> {
    minions: &'a dyn Minions,
    begun: Duration,
    read: Cell<Duration>,
}

impl<'a> Spent<'a> {
    pub(super) fn new(minions: &'a dyn Minions) -> Self {
        Self {
            minions,
            begun: minions.processor_time(),
            read: Cell::new(Duration::ZERO),
        }
    }

    /// Reads what is known of minions; its time is counted apart.
    pub(super) fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        let begun = self.minions.processor_time();
        let found = read();
        let took = self.minions.processor_time().saturating_sub(begun);
        self.read.set(self.read.get().saturating_add(took));
        found
    }

    pub(super) fn is_too_much(&self) -> bool {
        let all = self.minions.processor_time().saturating_sub(self.begun);
        let read = self.read.get();
        read > self.minions.read_time_max() || all.saturating_sub(read) > TARGET_TIME_MAX
    }
}

/// The data of all minions, as far as it was read at once.
pub(super) struct Data<'a> {
    pub(super) spent: &'a Spent<'a>,
    pub(super) grains: Option<Parts>,
    pub(super) pillars: Option<Parts>,
    /// Whether a minion without data might match.
    pub(super) with_unknown: bool,
}

/// A minion with what is known of it, read when the target asks for it.
pub(super) struct Known<'a> {
    id: &'a MinionId,
    data: &'a Data<'a>,
    grains: OnceCell<Option<Map>>,
    pillar: OnceCell<Option<Map>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(id: &'a MinionId, data: &'a Data<'a>) -> Self {
        Self {
            id,
            data,
            grains: OnceCell::new(),
            pillar: OnceCell::new(),
        }
    }
}

impl Subject for Known<'_> {
    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn grains(&self) -> Option<&Map> {
        if let Some(all) = &self.data.grains {
            return all.get(self.id);
        }
        self.grains
            .get_or_init(|| {
                let spent = self.data.spent;
                spent.reading(|| spent.minions.grains(self.id))
            })
            .as_ref()
    }

    fn pillar(&self) -> Option<&Map> {
        if let Some(all) = &self.data.pillars {
            return all.get(self.id);
        }
        self.pillar
            .get_or_init(|| {
                let spent = self.data.spent;
                spent.reading(|| spent.minions.pillar(self.id))
            })
            .as_ref()
    }

    fn matches_unknown(&self) -> bool {
        self.data.with_unknown
    }
}
