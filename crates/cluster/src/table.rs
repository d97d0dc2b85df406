//! Entries by name, with digests of groups of them.

use std::collections::BTreeMap;

use halite_crypto::{HashType, hash_hex};
use halite_proto::Value;
use halite_proto::msgpack::{Packing, pack_modern, packed_len};

use crate::clock::Stamp;
use crate::entry::Entry;
use crate::limits::BUCKETS;

/// What a table holds.
pub(crate) trait TableEntry {
    /// All that two masters compare of it; it can be packed.
    fn compared(&self) -> Value;
}

impl TableEntry for Entry {
    fn compared(&self) -> Value {
        self.to_value()
    }
}

/// Entries by name.
#[derive(Clone, Debug)]
pub(crate) struct Table<N, E = Entry> {
    entries: BTreeMap<N, Held<E>>,
    /// The digest of each group: the digests of its entries, combined in a way
    /// to which order does not matter.
    buckets: Vec<u64>,
    /// The same groups' names are found without a look at all.
    names: Vec<Vec<N>>,
}

#[derive(Clone, Debug)]
struct Held<E> {
    entry: E,
    digest: u64,
}

impl<N: Ord + Clone + AsRef<str>, E: TableEntry> Table<N, E> {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            buckets: vec![0; BUCKETS],
            names: vec![Vec::new(); BUCKETS],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, name: &N) -> Option<&E> {
        self.entries.get(name).map(|held| &held.entry)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&N, &E)> {
        self.entries.iter().map(|(name, held)| (name, &held.entry))
    }

    pub(crate) fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// The entries of a group.
    pub(crate) fn in_bucket(&self, bucket: usize) -> impl Iterator<Item = (&N, &E)> {
        let names = self.names.get(bucket).map_or(&[][..], Vec::as_slice);
        names
            .iter()
            .filter_map(|name| self.entries.get_key_value(name))
            .map(|(name, held)| (name, &held.entry))
    }

    /// Puts an entry in the place of the one that was there.
    pub(crate) fn set(&mut self, name: &N, entry: E) {
        let digest = digest_of(name.as_ref(), &entry);
        let bucket = bucket_of(name.as_ref());
        let before = self.entries.insert(name.clone(), Held { entry, digest });
        if before.is_none() {
            self.names[bucket].push(name.clone());
        }
        self.buckets[bucket] ^= digest ^ before.map_or(0, |held| held.digest);
    }

    pub(crate) fn remove(&mut self, name: &N) {
        let Some(held) = self.entries.remove(name) else {
            return;
        };
        let bucket = bucket_of(name.as_ref());
        self.buckets[bucket] ^= held.digest;
        self.names[bucket].retain(|other| other != name);
    }
}

impl<N: Ord + Clone + AsRef<str>> Table<N> {
    /// Removes tombstones that are not younger than `floor`.
    pub(crate) fn forget(&mut self, floor: Stamp) {
        let is_done = |entry: &Entry| entry.is_tombstone() && entry.latest() <= floor;
        let done = self.iter().filter(|(_, entry)| is_done(entry));
        let done: Vec<N> = done.map(|(name, _)| name.clone()).collect();
        for name in done {
            self.remove(&name);
        }
    }
}

/// The group of a name, the same on all masters.
pub(crate) fn bucket_of(name: &str) -> usize {
    usize::try_from(hash(name.as_bytes()) % BUCKETS as u64).unwrap_or_default()
}

/// Bytes that an entry takes in a message, about.
pub(crate) fn weight(entry: &Entry) -> usize {
    packed_len(&entry.to_value(), Packing::Modern)
}

fn digest_of(name: &str, entry: &impl TableEntry) -> u64 {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(pack_modern(&entry.compared()).unwrap_or_default());
    hash(&bytes)
}

/// The first eight bytes of a SHA-256.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let hex = hash_hex(HashType::Sha256, bytes);
    u64::from_str_radix(&hex[..16], 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Denied;

    fn entry(micros: u64) -> Entry {
        Entry {
            denied: Some(Denied {
                at: Stamp { micros, count: 0 },
                key: None,
            }),
            ..Entry::default()
        }
    }

    #[test]
    fn digests_are_of_the_content_and_not_of_the_way_to_it() {
        let name = |number: u32| format!("minion-{number}");
        let (mut one, mut other) = (Table::new(), Table::new());
        for number in 0..50 {
            one.set(&name(number), entry(1));
            other.set(&name(49 - number), entry(2));
        }
        assert_ne!(one.buckets(), other.buckets());
        for number in 0..50 {
            other.set(&name(number), entry(1));
        }
        assert_eq!(one.buckets(), other.buckets());
        assert_eq!(one.in_bucket(bucket_of("minion-7")).count(), {
            let same = |number: &u32| bucket_of(&name(*number)) == bucket_of("minion-7");
            (0..50).filter(same).count()
        });
        one.forget(Stamp {
            micros: 1,
            count: 0,
        });
        assert_eq!(one.buckets(), Table::<String>::new().buckets());
        assert_eq!(one.len(), 0);
    }
}
