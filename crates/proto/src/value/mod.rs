//! The one data type of the system: what functions take and return, what travels,
//! what is stored and what is printed.
//!
//! It mirrors what a Python peer holds after unpacking a message: text and bytes
//! are different here although the wire has one family for both
//! (`Value::text_or_bytes` distinguishes them). Maps keep their order; as a map holds
//! values and a value may be a map, [`map`] is a part of this module.

pub mod map;

use std::hash::{Hash, Hasher};

pub use self::map::Map;

/// The msgpack extension for a date and time.
pub(crate) const EXT_DATETIME: i8 = 78;

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
            Self::Ext(EXT_DATETIME, _) => "datetime",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_text_become_text() {
        assert_eq!(Value::text_or_bytes(b"abc".to_vec()), Value::from("abc"));
        assert_eq!(Value::text_or_bytes(vec![0xff]), Value::Bytes(vec![0xff]));
    }

    #[test]
    fn a_float_equals_itself_and_only_itself() {
        assert_eq!(Value::Float(f64::NAN), Value::Float(f64::NAN));
        assert_ne!(Value::Float(1.0), Value::Int(1));
        assert_ne!(Value::Bool(true), Value::Int(1));
    }
}
