//! Maps with Python's keys: `1`, `1.0` and `True` are the same key, order is
//! that of insertion, and what can change can not be a key.

use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexMap};

use super::{Value, float_to_int, order};
use crate::error::{Error, Result};
use crate::limits;
use crate::source::Str;
use crate::walk;

/// A hashable value.
#[derive(Clone)]
pub(crate) struct Key(Value);

/// An ordered map.
#[derive(Clone, Default)]
pub(crate) struct Dict {
    entries: IndexMap<Key, Value>,
    /// What messages call this map in place of `dict`.
    pub(crate) label: Option<Str>,
}

impl Key {
    /// The value as a key; a `TypeError` for lists and maps.
    pub(crate) fn new(value: Value) -> Result<Self> {
        check(&value, 0)?;
        Ok(Self(value))
    }

    pub(crate) fn text(text: impl Into<Str>) -> Self {
        Self(Value::Str(text.into()))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

fn check(value: &Value, depth: u32) -> Result<()> {
    walk::see(0)?;
    match value {
        Value::List(_) | Value::Dict(_) | Value::Set(_) => Err(Error::of_type(format!(
            "unhashable type: '{}'",
            value.type_name()
        ))),
        Value::Tuple(tuple) => {
            if depth >= limits::NESTING_MAX {
                return Err(Error::limit("tuples are nested too deeply for a key"));
            }
            tuple.0.0.iter().try_for_each(|item| check(item, depth + 1))
        }
        Value::Other(_) => match value.as_undefined() {
            Some(undefined) => undefined.used(),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::Str(text) | Value::Markup(text) => hash_text(text, state),
        Value::Int(_) | Value::Bool(_) => (1_u8, value.as_int()).hash(state),
        Value::Float(float) => match float_to_int(*float) {
            Some(int) if float.fract() == 0.0 => (1_u8, Some(int)).hash(state),
            _ => (2_u8, float.to_bits()).hash(state),
        },
        Value::Bytes(bytes) => (3_u8, bytes).hash(state),
        Value::Tuple(tuple) => {
            (4_u8, tuple.0.0.len()).hash(state);
            for item in &tuple.0.0 {
                hash(item, state);
            }
        }
        other => other.type_name().hash(state),
    }
}

fn hash_text<H: Hasher>(text: &str, state: &mut H) {
    (0_u8, text).hash(state);
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(&other.0) || order::equal(&self.0, &other.0).unwrap_or(false)
    }
}

impl Eq for Key {}

struct TextKey<'a>(&'a str);

impl Hash for TextKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_text(self.0, state);
    }
}

impl Equivalent<Key> for TextKey<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_str() == Some(self.0)
    }
}

impl Dict {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        self.entries.get(key)
    }

    pub(crate) fn get_str(&self, key: &str) -> Option<&Value> {
        self.entries.get(&TextKey(key))
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.entries.contains_key(key)
    }

    /// Sets a key; an old one keeps its place.
    pub(crate) fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        self.entries.insert(key, value)
    }

    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.entries.insert(Key::text(key), value);
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Value> {
        self.entries.shift_remove(key)
    }

    pub(crate) fn pop_last(&mut self) -> Option<(Key, Value)> {
        self.entries.pop()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Key, &Value)> + ExactSizeIterator {
        self.entries.iter()
    }

    pub(crate) fn keys(&self) -> Vec<Value> {
        self.entries.keys().map(|key| key.0.clone()).collect()
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        self.entries.values().cloned().collect()
    }

    pub(crate) fn items(&self) -> Vec<Value> {
        self.entries
            .iter()
            .map(|(key, value)| Value::tuple(vec![key.0.clone(), value.clone()]))
            .collect()
    }

    pub(super) fn take_values(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.entries)
            .into_iter()
            .flat_map(|(key, value)| [key.0, value])
            .collect()
    }
}

impl FromIterator<(Key, Value)> for Dict {
    fn from_iter<I: IntoIterator<Item = (Key, Value)>>(entries: I) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            label: None,
        }
    }
}
