//! Ordered maps of values.
//!
//! Nearly all maps of the system are small: loads, envelopes, loose data. Up to
//! [`SMALL_MAX`] entries are a plain list that is searched from its beginning,
//! which is faster than hashing and takes a third of the memory.
//!
//! Invariant: no two entries have equal keys, and order is that of the first
//! insertion.

mod iter;
mod standard;

use std::hash::{Hash, Hasher};

use indexmap::IndexMap;

pub use iter::{IntoIter, Iter, IterMut};

use super::Value;

/// Most entries without an index.
pub const SMALL_MAX: usize = 16;

/// An ordered map from values to values. A key given twice keeps its first
/// place and its last value, as in Python.
#[derive(Clone, Default)]
pub struct Map(Entries);

#[derive(Clone)]
enum Entries {
    Small(Vec<(Value, Value)>),
    Large(Box<IndexMap<Value, Value>>),
}

impl Default for Entries {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Map {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        if capacity <= SMALL_MAX {
            Self(Entries::Small(Vec::with_capacity(capacity)))
        } else {
            Self(Entries::Large(Box::new(IndexMap::with_capacity(capacity))))
        }
    }

    /// The map of `entries`, of which no two have equal keys.
    pub fn from_distinct(entries: Vec<(Value, Value)>) -> Self {
        if entries.len() <= SMALL_MAX {
            Self(Entries::Small(entries))
        } else {
            Self(Entries::Large(Box::new(entries.into_iter().collect())))
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::Small(entries) => entries.len(),
            Entries::Large(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts `value` under `key`; an old value is returned.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match &mut self.0 {
            Entries::Small(entries) => {
                if let Some((_, old)) = entries.iter_mut().find(|(known, _)| *known == key) {
                    return Some(std::mem::replace(old, value));
                }
                if entries.len() >= SMALL_MAX {
                    self.grow();
                    return self.insert(key, value);
                }
                entries.push((key, value));
                None
            }
            Entries::Large(entries) => entries.insert(key, value),
        }
    }

    /// The value under the text `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match &self.0 {
            Entries::Small(entries) => entries
                .iter()
                .find_map(|(known, value)| (known.as_str() == Some(key)).then_some(value)),
            Entries::Large(entries) => entries.get(&StrKey(key)),
        }
    }

    /// The value under the text `key`, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match &mut self.0 {
            Entries::Small(entries) => entries
                .iter_mut()
                .find_map(|(known, value)| (known.as_str() == Some(key)).then_some(value)),
            Entries::Large(entries) => entries.get_mut(&StrKey(key)),
        }
    }

    /// The value under a key of any kind.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        match &self.0 {
            Entries::Small(entries) => entries
                .iter()
                .find_map(|(known, value)| (known == key).then_some(value)),
            Entries::Large(entries) => entries.get(key),
        }
    }

    /// Whether there is an entry under the text `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Takes out the entry under the text `key`; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = entries
                    .iter()
                    .position(|(known, _)| known.as_str() == Some(key))?;
                Some(entries.remove(at).1)
            }
            Entries::Large(entries) => entries.shift_remove(&StrKey(key)),
        }
    }

    /// The value under `key`, put there from `default` if it was missing.
    pub fn get_or_insert_with(
        &mut self,
        key: impl Into<Value>,
        default: impl FnOnce() -> Value,
    ) -> &mut Value {
        let key = key.into();
        let full = matches!(&self.0, Entries::Small(entries) if entries.len() >= SMALL_MAX);
        if full && self.get_value(&key).is_none() {
            self.grow();
        }
        match &mut self.0 {
            Entries::Small(entries) => {
                let at = match entries.iter().position(|(known, _)| *known == key) {
                    Some(at) => at,
                    None => {
                        entries.push((key, default()));
                        entries.len() - 1
                    }
                };
                &mut entries[at].1
            }
            Entries::Large(entries) => entries.entry(key).or_insert_with(default),
        }
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value, &mut Value) -> bool) {
        match &mut self.0 {
            Entries::Small(entries) => entries.retain_mut(|(key, value)| keep(key, value)),
            Entries::Large(entries) => entries.retain(keep),
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> Iter<'_> {
        match &self.0 {
            Entries::Small(entries) => Iter::Small(entries.iter()),
            Entries::Large(entries) => Iter::Large(entries.iter()),
        }
    }

    /// The entries in order, values to change.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        match &mut self.0 {
            Entries::Small(entries) => IterMut::Small(entries.iter_mut()),
            Entries::Large(entries) => IterMut::Large(entries.iter_mut()),
        }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator {
        self.iter().map(|(key, _)| key)
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + DoubleEndedIterator {
        self.iter().map(|(_, value)| value)
    }

    /// Makes room for more than the small entries.
    fn grow(&mut self) {
        if let Entries::Small(entries) = &mut self.0 {
            let large = std::mem::take(entries).into_iter().collect();
            self.0 = Entries::Large(Box::new(large));
        }
    }
}

/// Looks a text key up without allocating a `Value` for it.
struct StrKey<'a>(&'a str);

impl Hash for StrKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(&STR).hash(state);
        self.0.hash(state);
    }
}

impl indexmap::Equivalent<Value> for StrKey<'_> {
    fn equivalent(&self, key: &Value) -> bool {
        key.as_str() == Some(self.0)
    }
}

static STR: Value = Value::Str(String::new());

#[cfg(test)]
mod tests {
    use super::*;

    /// One map of each kind, and one that grows.
    const SIZES: [i64; 4] = [3, 16, 17, 100];

    fn numbers(size: i64) -> Map {
        (0..size).map(|n| (format!("k{n}"), n)).collect()
    }

    #[test]
    fn text_keys_are_found_without_allocating_one() {
        for size in SIZES {
            let map = numbers(size);
            assert_eq!(map.get("k2"), Some(&Value::from(2)));
            assert_eq!(map.get_value(&"k2".into()), Some(&Value::from(2)));
            assert_eq!(map.get("k-1"), None);
            assert_eq!(map.get_value(&Value::Int(2)), None);
        }
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        for size in SIZES {
            let mut map = numbers(size);
            assert_eq!(map.insert("k0", "x"), Some(0.into()));
            assert_eq!(map.len(), usize::try_from(size).unwrap());
            assert_eq!(map.iter().next(), Some((&"k0".into(), &"x".into())));
        }
    }

    #[test]
    fn removing_keeps_the_order_of_the_rest() {
        for size in SIZES {
            let mut map = numbers(size);
            assert_eq!(map.remove("k1"), Some(1.into()));
            assert_eq!(map.remove("k1"), None);
            let left: Vec<_> = map.values().filter_map(Value::as_i64).collect();
            let wanted: Vec<_> = (0..size).filter(|n| *n != 1).collect();
            assert_eq!(left, wanted);
        }
    }

    #[test]
    fn a_map_grows_beyond_the_small_size_in_every_way() {
        let mut inserted = Map::new();
        let mut entered = Map::new();
        for n in 0..40 {
            inserted.insert(n, n);
            *entered.get_or_insert_with(n, || Value::Nil) = n.into();
            assert_eq!(entered.get_or_insert_with(0, || Value::Nil), &0.into());
            assert_eq!(inserted, entered);
        }
        let order: Vec<_> = entered.into_iter().map(|(key, _)| key).collect();
        assert_eq!(order, (0..40).map(Value::from).collect::<Vec<_>>());
    }

    #[test]
    fn maps_are_equal_whatever_their_order_and_size_was() {
        for size in SIZES {
            let map = numbers(size);
            let reversed: Map = map.clone().into_iter().rev().collect();
            assert_eq!(map, reversed);
            let mut shrunk = numbers(100);
            shrunk.retain(|_, value| value.as_i64().unwrap() < size);
            assert_eq!(map, shrunk);
            shrunk.insert("k0", "other");
            assert_ne!(map, shrunk);
        }
    }

    #[test]
    fn a_list_of_distinct_entries_is_a_map_as_it_is() {
        for size in SIZES {
            let map = numbers(size);
            assert_eq!(Map::from_distinct(map.clone().into_iter().collect()), map);
        }
    }

    #[test]
    fn iterators_know_their_length_and_both_ends() {
        for size in SIZES {
            let mut map = numbers(size);
            assert_eq!(map.iter().len(), map.len());
            assert_eq!(map.keys().next_back(), map.keys().last());
            for (_, value) in &mut map {
                *value = Value::Nil;
            }
            assert!(map.values().all(Value::is_nil));
        }
    }

    #[test]
    fn a_value_is_small() {
        assert!(size_of::<Map>() <= 24, "{}", size_of::<Map>());
        assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
    }
}
