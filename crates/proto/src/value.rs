//! The one data type of the system: what functions take and return, what
//! travels, what is stored and what is printed.
//!
//! It mirrors what a Python peer holds after unpacking a message: text and
//! bytes are two things here although the wire has one family for both
//! (`Value::text_or_bytes` is where they part). Maps keep their order.

use std::fmt;
use std::hash::{Hash, Hasher};

use indexmap::IndexMap;
use indexmap::map::{IntoIter, Iter, IterMut};

/// A value of any kind that Salt's peers exchange.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Python's `None`.
    #[default]
    Nil,
    /// `True` or `False`.
    Bool(bool),
    /// An integer within -2^63 ..= 2^64-1, the range of the wire; larger ones
    /// travel as decimal text.
    Int(i128),
    /// A 64 bit float.
    Float(f64),
    /// Text.
    Str(String),
    /// Bytes that are not text, or that their sender marked as bytes.
    Bytes(Vec<u8>),
    /// A list; tuples and sets of a peer arrive as lists.
    List(Vec<Self>),
    /// An ordered map.
    Map(Map),
    /// A msgpack extension: its code and data. 78 is a date and time.
    Ext(i8, Vec<u8>),
}

impl Value {
    /// Text where the bytes are UTF-8, else bytes: how Salt reads both string
    /// families of the wire.
    pub fn text_or_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Str(text),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of text or of bytes: where a field means bytes, a peer's
    /// decoder may have made text of them.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The integer, if this is one.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The integer, if this is one that fits 64 signed bits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_int().and_then(|int| i64::try_from(int).ok())
    }

    /// The number as a float, if this is an integer or a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "what Python's float() does")]
            Self::Int(int) => Some(*int as f64),
            Self::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The map, if this is one, to change.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Whether this is `None`.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// Python's truth: false for `None`, `False`, zero and everything empty.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => *int != 0,
            Self::Float(float) => *float != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Ext(..) => true,
        }
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map().and_then(|map| map.get(key))
    }

    /// What kind of value this is, in Python's words, for error messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "dict",
            Self::Ext(78, _) => "datetime",
            Self::Ext(..) => "ext",
        }
    }
}

/// Equality of the same kind of value; unlike in Python, `1`, `1.0` and `True`
/// differ. Floats compare by their bits, so that a value equals itself.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Ext(a, x), Self::Ext(b, y)) => a == b && x == y,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Nil => {}
            Self::Bool(bool) => bool.hash(state),
            Self::Int(int) => int.hash(state),
            Self::Float(float) => float.to_bits().hash(state),
            Self::Str(text) => text.hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
            Self::List(items) => items.hash(state),
            // Order does not count for equality, so only the size may count here.
            Self::Map(map) => map.len().hash(state),
            Self::Ext(code, data) => {
                code.hash(state);
                data.hash(state);
            }
        }
    }
}

macro_rules! from {
    ($($from:ty => |$value:ident| $into:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $into
            }
        }
    )*};
}

from! {
    bool => |value| Self::Bool(value);
    i32 => |value| Self::Int(value.into());
    i64 => |value| Self::Int(value.into());
    u16 => |value| Self::Int(value.into());
    u32 => |value| Self::Int(value.into());
    u64 => |value| Self::Int(value.into());
    usize => |value| Self::Int(value as i128);
    f64 => |value| Self::Float(value);
    &str => |value| Self::Str(value.to_owned());
    String => |value| Self::Str(value);
    Vec<Value> => |value| Self::List(value);
    Map => |value| Self::Map(value);
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nil, Into::into)
    }
}

/// An ordered map from values to values. A key given twice keeps its first
/// place and its last value, as in Python.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Map(IndexMap<Value, Value>);

impl Map {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(IndexMap::with_capacity(capacity))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `value` under `key`; an old value is returned.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(key.into(), value.into())
    }

    /// The value under the text `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(&StrKey(key))
    }

    /// The value under the text `key`, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(&StrKey(key))
    }

    /// The value under a key of any kind.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether there is an entry under the text `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(&StrKey(key))
    }

    /// Takes out the entry under the text `key`; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(&StrKey(key))
    }

    /// The value under `key`, put there from `default` if it was missing.
    pub fn get_or_insert_with(
        &mut self,
        key: impl Into<Value>,
        default: impl FnOnce() -> Value,
    ) -> &mut Value {
        self.0.entry(key.into()).or_insert_with(default)
    }

    /// The entries in order.
    pub fn iter(&self) -> Iter<'_, Value, Value> {
        self.0.iter()
    }

    /// The entries in order, values to change.
    pub fn iter_mut(&mut self) -> IterMut<'_, Value, Value> {
        self.0.iter_mut()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.keys()
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.values()
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&Value, &mut Value) -> bool) {
        self.0.retain(keep);
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter()).finish()
    }
}

impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl<K: Into<Value>, V: Into<Value>> Extend<(K, V)> for Map {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.0.extend(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        );
    }
}

impl<K: Into<Value>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Map {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Map {
    type Item = (Value, Value);
    type IntoIter = IntoIter<Value, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Value, &'a Value);
    type IntoIter = Iter<'a, Value, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
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

    #[test]
    fn text_keys_are_found_without_allocating_one() {
        let map = Map::from([("a", Value::from(1)), ("b", Value::from("x"))]);
        assert_eq!(map.get("b"), Some(&Value::from("x")));
        assert_eq!(map.get("c"), None);
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        let map: Map = [("a", 1), ("b", 2), ("a", 3)].into_iter().collect();
        let entries: Vec<_> = map.into_iter().collect();
        assert_eq!(
            entries,
            [
                (Value::from("a"), Value::from(3)),
                (Value::from("b"), Value::from(2))
            ]
        );
    }

    #[test]
    fn removing_keeps_the_order_of_the_rest() {
        let mut map = Map::from([("a", 1), ("b", 2), ("c", 3)]);
        map.remove("a");
        let keys: Vec<_> = map.keys().filter_map(Value::as_str).collect();
        assert_eq!(keys, ["b", "c"]);
    }

    #[test]
    fn bytes_that_are_text_become_text() {
        assert_eq!(Value::text_or_bytes(b"abc".to_vec()), Value::from("abc"));
        assert_eq!(Value::text_or_bytes(vec![0xff]), Value::Bytes(vec![0xff]));
    }
}
