//! The history of minions' connections, within a bounded memory.
//!
//! Invariant: the changes of one minion are bounded in number, and all together in
//! bytes; the oldest are dropped.

use std::collections::{HashMap, VecDeque};
use std::mem::size_of;
use std::sync::Arc;

use halite_proto::MinionId;

/// Memory of a minion without changes beside its name: its places in the tables.
const MINION_BYTES: usize = 128;

/// Memory of one change.
const CHANGE_BYTES: usize = size_of::<Entry>();

/// One of this many parts is forgotten when there is no room.
const PARTS: usize = 10;

/// A change of a minion's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has proven that it is connected.
    Connected,
    /// Its connection has ended.
    Disconnected,
    /// Its connection is there, and nothing has come over it for too long.
    Silent,
    /// The master that it was connected to is not heard any more.
    Unreachable,
    /// It has signed in.
    SignedIn,
    /// Somebody who has its public key has signed in and trusts the key of another
    /// master.
    TrustsAnother,
    /// Several machines use its key.
    SeveralMachines,
    /// Something in its name was refused, for this reason.
    Refused(&'static str),
}

impl Change {
    /// Its name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Silent => "silent",
            Self::Unreachable => "unreachable",
            Self::SignedIn => "signed_in",
            Self::TrustsAnother => "trusts_another",
            Self::SeveralMachines => "several_machines",
            Self::Refused(_) => "refused",
        }
    }
}

/// A change, or several of one kind that came one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The change.
    pub change: Change,
    /// The other master of the cluster that has seen it; `None` is this one.
    pub master: Option<Arc<str>>,
    /// When it came first, in microseconds since 1970.
    pub first_micros: u64,
    /// When it came last.
    pub last_micros: u64,
    /// How often.
    pub times: u32,
}

/// The changes of all minions.
#[derive(Debug)]
pub struct History {
    minions: HashMap<MinionId, VecDeque<Entry>>,
    bytes: usize,
    bytes_max: usize,
    changes_max: usize,
}

impl History {
    /// Nothing yet; at most this many bytes in all, and this many changes of one minion.
    pub fn new(bytes_max: usize, changes_max: usize) -> Self {
        Self {
            minions: HashMap::new(),
            bytes: 0,
            bytes_max,
            changes_max,
        }
    }

    /// Something has become of a minion at this master, or at another one.
    pub fn record(
        &mut self,
        id: &MinionId,
        change: Change,
        master: Option<&Arc<str>>,
        now_micros: u64,
    ) {
        let changes = self.minions.entry(id.clone()).or_insert_with(|| {
            self.bytes += minion_bytes(id);
            VecDeque::new()
        });
        if let Some(last) = changes.back_mut()
            && last.change == change
            && last.master.as_ref() == master
        {
            last.times = last.times.saturating_add(1);
            last.last_micros = last.last_micros.max(now_micros);
            return;
        }
        if changes.len() >= self.changes_max {
            changes.pop_front();
        }
        let room = changes.capacity();
        changes.push_back(Entry {
            change,
            master: master.cloned(),
            first_micros: now_micros,
            last_micros: now_micros,
            times: 1,
        });
        self.bytes += (changes.capacity() - room) * CHANGE_BYTES;
        if self.bytes > self.bytes_max {
            self.make_room();
        }
    }

    /// Forgets the oldest changes, a part at once, so that one more does not cost a look
    /// at all.
    fn make_room(&mut self) {
        let mut ages: Vec<u64> = self
            .minions
            .values()
            .flatten()
            .map(|entry| entry.last_micros)
            .collect();
        let count = ages.len() / PARTS;
        let (_, newest_to_go, _) = ages.select_nth_unstable(count);
        let newest_to_go = *newest_to_go;
        for changes in self.minions.values_mut() {
            changes.retain(|entry| entry.last_micros > newest_to_go);
            changes.shrink_to_fit();
        }
        self.minions.retain(|_, changes| !changes.is_empty());
        self.minions.shrink_to_fit();
        let taken = |(id, changes): (&MinionId, &VecDeque<Entry>)| {
            minion_bytes(id) + changes.capacity() * CHANGE_BYTES
        };
        self.bytes = self.minions.iter().map(taken).sum();
    }

    /// The newest changes of a minion, at most this many, the oldest of them first.
    pub fn newest(&self, id: &MinionId, count: usize) -> impl Iterator<Item = &Entry> {
        let changes = self.minions.get(id).into_iter();
        changes.flat_map(move |all| all.range(all.len().saturating_sub(count)..))
    }
}

fn minion_bytes(id: &MinionId) -> usize {
    MINION_BYTES + id.as_str().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MinionId {
        MinionId::parse(text).unwrap()
    }

    fn changes_of(history: &History, name: &str) -> Vec<(&'static str, u64, u64, u32)> {
        let id = id(name);
        let entries = history.newest(&id, usize::MAX);
        entries
            .map(|entry| {
                let Entry {
                    first_micros,
                    last_micros,
                    times,
                    ..
                } = *entry;
                (entry.change.name(), first_micros, last_micros, times)
            })
            .collect()
    }

    #[test]
    fn what_comes_again_and_again_is_one_entry() {
        let mut history = History::new(10_000, 10);
        let refused = Change::Refused("expired");
        history.record(&id("a"), Change::Connected, None, 1);
        for at in 2..50 {
            history.record(&id("a"), refused, None, at);
        }
        history.record(&id("a"), Change::Refused("overload"), None, 50);
        let other: Arc<str> = "m2".into();
        history.record(&id("a"), Change::Connected, Some(&other), 60);
        history.record(&id("a"), Change::Connected, None, 61);
        let expected = [
            ("connected", 1, 1, 1),
            ("refused", 2, 49, 48),
            ("refused", 50, 50, 1),
            ("connected", 60, 60, 1),
            ("connected", 61, 61, 1),
        ];
        assert_eq!(changes_of(&history, "a"), expected);
        let masters: Vec<_> = history
            .newest(&id("a"), usize::MAX)
            .map(|of| of.master.clone())
            .collect();
        assert_eq!(masters[3..], [Some(other), None]);
        assert!(changes_of(&history, "b").is_empty());
    }

    #[test]
    fn one_minion_that_comes_and_goes_costs_no_other_its_place() {
        let mut history = History::new(100_000, 4);
        history.record(&id("quiet"), Change::Connected, None, 1);
        for at in 2..100_000 {
            let change = match at % 2 {
                0 => Change::Connected,
                _ => Change::Disconnected,
            };
            history.record(&id("restless"), change, None, at);
        }
        assert_eq!(changes_of(&history, "quiet"), [("connected", 1, 1, 1)]);
        let ends: Vec<u64> = changes_of(&history, "restless")
            .iter()
            .map(|of| of.1)
            .collect();
        assert_eq!(ends, [99_996, 99_997, 99_998, 99_999]);
    }

    #[test]
    fn many_minions_take_no_more_than_their_bytes_and_the_oldest_go() {
        const MAX: usize = 20_000;
        let mut history = History::new(MAX, 10);
        for at in 0..5_000_u64 {
            history.record(&id(&format!("m{at}")), Change::Connected, None, at);
            assert!(history.bytes <= MAX, "{}", history.bytes);
        }
        assert!(changes_of(&history, "m0").is_empty());
        assert_eq!(
            changes_of(&history, "m4999"),
            [("connected", 4999, 4999, 1)]
        );
        // Not much more than a tenth goes at once.
        assert!(history.bytes > MAX / 2);
        let counted: usize = history
            .minions
            .iter()
            .map(|(id, changes)| minion_bytes(id) + changes.capacity() * CHANGE_BYTES)
            .sum();
        assert_eq!(counted, history.bytes);
    }

    #[test]
    fn a_moment_that_all_share_leaves_none() {
        let mut history = History::new(2_000, 10);
        for number in 0..100 {
            history.record(&id(&format!("m{number}")), Change::Connected, None, 7);
            assert!(history.bytes <= 2_000);
        }
    }
}
