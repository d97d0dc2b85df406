//! When two keys of a map are the same to Python: `1`, `1.0` and `yes` are.

use halite_proto::{Value, python};

/// A key that is equal to another when Python finds their values equal.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum PythonKey {
    Nil,
    Number(i128),
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
}

impl PythonKey {
    /// The key for a scalar; lists and maps cannot be keys.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Nil => Some(Self::Nil),
            Value::Bool(bool) => Some(Self::Number(i128::from(*bool))),
            Value::Int(int) => Some(Self::Number(*int)),
            Value::Float(float) => Some(match whole(*float) {
                Some(int) => Self::Number(int),
                None => Self::Float(float.to_bits()),
            }),
            Value::Str(text) => Some(Self::Text(text.clone())),
            Value::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
            Value::List(_) | Value::Map(_) | Value::Ext(..) => None,
        }
    }
}

/// Whether Python finds these scalars equal.
pub(crate) fn is_same_key(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Str(one), Value::Str(other)) => one == other,
        (Value::Str(_), _) | (_, Value::Str(_)) => false,
        _ => PythonKey::from_value(one) == PythonKey::from_value(other),
    }
}

/// The integer that `float` is equal to, if there is one.
fn whole(float: f64) -> Option<i128> {
    const LIMIT: f64 = 1e37;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole and within the limit"
    )]
    (float.fract() == 0.0 && float.abs() < LIMIT).then_some(float as i128)
}

/// A scalar as Python's `str` writes it; nothing for lists and maps.
pub fn python_str(value: &Value) -> String {
    match value {
        Value::Nil => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => python::float_repr(*float),
        Value::Str(text) => text.clone(),
        Value::Bytes(bytes) => python::bytes_repr(bytes),
        Value::List(_) | Value::Map(_) | Value::Ext(..) => String::new(),
    }
}
