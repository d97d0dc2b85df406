//! Minion data that the store did not accept because it was full or unreachable, kept
//! until it does. It is in memory: if the master ends first, minions send it to the next
//! one with their next refresh.
//!
//! Invariant: of a minion the newest is kept of each kind, and nothing that was stored or
//! removed since.

use std::collections::{BTreeMap, HashMap};
use std::time::SystemTime;

use halite_proto::msgpack::{Packing, pack_map};
use halite_proto::{Map, MinionId};
use halite_store::Bank;

use crate::limits::{UNKEPT_BYTES_MAX, UNKEPT_REFUSALS_MAX};

/// Memory of an entry beside its data.
const ENTRY_BYTES: usize = 256;

/// The data that waits for the store. Whoever adds some gives the reason and the time of
/// the store's refusal.
#[derive(Debug, Default)]
pub(crate) struct UnkeptData {
    entries: HashMap<MinionId, BTreeMap<Bank, Entry>>,
    /// In the order in which they are tried.
    order: BTreeMap<u64, (Bank, MinionId)>,
    last: u64,
    bytes: usize,
    /// Why the last of it was not stored, and since when something waits.
    why: Option<(String, SystemTime)>,
    /// Counts what the store has taken.
    taken: u64,
}

/// Data of a minion that is not stored yet.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) data: Map,
    /// Whether it replaces all stored data; otherwise it is merged over it.
    pub(crate) is_whole: bool,
    order: u64,
    bytes: usize,
    /// How often it was refused although the store took others in between.
    refusals: usize,
    /// How much the store had taken when it was refused.
    refused_at: u64,
}

/// How much of it there is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unkept {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    pub(crate) since: SystemTime,
    pub(crate) reason: String,
}

impl UnkeptData {
    /// Adds data that was not stored, replacing older data of the minion; false if there
    /// is no room.
    pub(crate) fn add(
        &mut self,
        bank: Bank,
        id: &MinionId,
        (data, is_whole): (Map, bool),
        why: (String, SystemTime),
    ) -> bool {
        self.take(bank, id);
        let Ok(packed) = pack_map(&data, Packing::Modern) else {
            return false;
        };
        let entry = Entry {
            data,
            is_whole,
            order: 0,
            bytes: packed.len() + ENTRY_BYTES,
            refusals: 0,
            refused_at: self.taken,
        };
        self.put(bank, id, entry, why)
    }

    /// Data that was taken out and refused once more goes behind the others; false if the
    /// store accepts others but never this.
    pub(crate) fn put_back(
        &mut self,
        bank: Bank,
        id: &MinionId,
        mut entry: Entry,
        why: (String, SystemTime),
    ) -> bool {
        if self.taken > entry.refused_at {
            entry.refusals += 1;
            entry.refused_at = self.taken;
        }
        entry.refusals < UNKEPT_REFUSALS_MAX && self.put(bank, id, entry, why)
    }

    fn put(
        &mut self,
        bank: Bank,
        id: &MinionId,
        mut entry: Entry,
        (reason, now): (String, SystemTime),
    ) -> bool {
        if self.bytes.saturating_add(entry.bytes) > UNKEPT_BYTES_MAX {
            return false;
        }
        self.last += 1;
        entry.order = self.last;
        self.bytes += entry.bytes;
        self.order.insert(entry.order, (bank, id.clone()));
        self.entries
            .entry(id.clone())
            .or_default()
            .insert(bank, entry);
        self.why = Some((reason, self.why.take().map_or(now, |(_, since)| since)));
        true
    }

    /// Removes and returns the waiting data of a minion.
    pub(crate) fn take(&mut self, bank: Bank, id: &MinionId) -> Option<Entry> {
        let of_minion = self.entries.get_mut(id)?;
        let entry = of_minion.remove(&bank)?;
        if of_minion.is_empty() {
            self.entries.remove(id);
        }
        self.order.remove(&entry.order);
        self.bytes -= entry.bytes;
        Some(entry)
    }

    /// Removes one of the values from the waiting data of a minion.
    pub(crate) fn remove_from(&mut self, bank: Bank, id: &MinionId, name: &str) {
        if let Some(banks) = self.entries.get_mut(id)
            && let Some(entry) = banks.get_mut(&bank)
        {
            entry.data.remove(name);
        }
    }

    /// The entry to be tried first.
    pub(crate) fn first(&self) -> Option<(Bank, MinionId)> {
        self.order.values().next().cloned()
    }

    /// The store has taken something.
    pub(crate) fn note_taken(&mut self) {
        self.taken += 1;
        if self.order.is_empty() {
            self.why = None;
        }
    }

    /// How much waits; `None` if nothing does.
    pub(crate) fn waits(&self) -> Option<Unkept> {
        let (reason, since) = self.why.clone().filter(|_| !self.order.is_empty())?;
        Some(Unkept {
            count: self.order.len(),
            bytes: self.bytes,
            since,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> MinionId {
        MinionId::parse(name).unwrap()
    }

    fn full() -> (String, SystemTime) {
        ("full".to_owned(), SystemTime::UNIX_EPOCH)
    }

    fn add(unkept: &mut UnkeptData, name: &str, os: &str) -> bool {
        let data = (Map::from([("os", os)]), true);
        unkept.add(Bank::Grains, &id(name), data, full())
    }

    #[test]
    fn the_newest_of_each_minion_waits_in_order() {
        let mut unkept = UnkeptData::default();
        assert_eq!(unkept.waits(), None);
        for (name, os) in [("web1", "Arch"), ("web2", "Arch"), ("web1", "Debian")] {
            assert!(add(&mut unkept, name, os));
        }
        let waits = unkept.waits().unwrap();
        assert_eq!((waits.count, waits.reason.as_str()), (2, "full"));
        assert_eq!(unkept.first(), Some((Bank::Grains, id("web2"))));
        let entry = unkept.take(Bank::Grains, &id("web1")).unwrap();
        assert_eq!(entry.data.get("os"), Some(&"Debian".into()));
        assert!(unkept.take(Bank::Grains, &id("web1")).is_none());
        unkept.take(Bank::Grains, &id("web2")).unwrap();
        unkept.note_taken();
        assert_eq!((unkept.waits(), unkept.bytes, unkept.why), (None, 0, None));
    }

    /// A full store refuses everything for long; one value that it never takes is given up.
    #[test]
    fn what_is_refused_beside_others_that_are_taken_is_given_up() {
        let mut unkept = UnkeptData::default();
        add(&mut unkept, "web1", "Arch");
        let again = |unkept: &mut UnkeptData| {
            let entry = unkept.take(Bank::Grains, &id("web1")).unwrap();
            unkept.put_back(Bank::Grains, &id("web1"), entry, full())
        };
        for _ in 0..10 * UNKEPT_REFUSALS_MAX {
            assert!(again(&mut unkept));
        }
        for _ in 1..UNKEPT_REFUSALS_MAX {
            unkept.note_taken();
            assert!(again(&mut unkept));
        }
        unkept.note_taken();
        assert!(!again(&mut unkept));
        assert_eq!(unkept.waits(), None);
    }

    #[test]
    fn what_finds_no_room_is_not_kept() {
        let mut unkept = UnkeptData::default();
        let long = "x".repeat(UNKEPT_BYTES_MAX / 2);
        assert!(add(&mut unkept, "web1", &long));
        assert!(!add(&mut unkept, "web2", &long));
        assert!(add(&mut unkept, "web1", &long), "in place of the first");
        assert!(add(&mut unkept, "web2", "Arch"));
    }
}
