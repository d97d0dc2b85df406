//! The methods that Python's values have, as far as they are data: nothing
//! here reaches beyond the value, its arguments and other values.

mod braces;
mod bytes;
mod dict;
mod list;
mod number;
mod set;
mod split;
mod text;
mod text_more;

pub(crate) use bytes::hex;
pub(crate) use dict::pairs;
pub(crate) use split::lines;
pub(crate) use text::{replace, strip};
pub(crate) use text_more::capitalize;

use crate::error::{Error, ErrorKind, Result};
use crate::eval::{Args, Machine};
use crate::value::{Other, OtherKind, Value, ViewKind};

const VIEW: &[&str] = &["isdisjoint"];
const NONE: &[&str] = &[];

fn names(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Str(_) | Value::Markup(_) => text::NAMES,
        Value::List(_) => list::NAMES,
        Value::Tuple(_) => &["count", "index"],
        Value::Dict(_) => dict::NAMES,
        Value::Set(_) => set::NAMES,
        Value::Int(_) | Value::Bool(_) => {
            &["bit_length", "as_integer_ratio", "conjugate", "bit_count"]
        }
        Value::Float(_) => &["is_integer", "conjugate"],
        Value::Bytes(_) => bytes::NAMES,
        Value::Other(Other(OtherKind::Range(_))) => &["count", "index"],
        Value::Other(Other(OtherKind::View(_, ViewKind::Keys | ViewKind::Items))) => VIEW,
        _ => NONE,
    }
}

/// Whether a value has a method.
pub(crate) fn exists(value: &Value, name: &str) -> bool {
    names(value).contains(&name)
}

/// Attributes that are no methods.
pub(crate) fn property(value: &Value, name: &str) -> Option<Value> {
    match (value, name) {
        (Value::Int(_) | Value::Bool(_), "real" | "numerator") => value.as_int().map(Value::Int),
        (Value::Int(_) | Value::Bool(_), "imag") => Some(Value::Int(0)),
        (Value::Int(_) | Value::Bool(_), "denominator") => Some(Value::Int(1)),
        (Value::Float(_), "real") => Some(value.clone()),
        (Value::Float(_), "imag") => Some(Value::Float(0.0)),
        _ => None,
    }
}

/// Calls a method.
pub(crate) fn call(machine: &Machine<'_>, value: &Value, name: &str, args: Args) -> Result<Value> {
    match value {
        Value::Str(text) => text::call(machine, text, name, args),
        Value::Markup(text) => {
            let result = if matches!(name, "format" | "join") {
                text::markup_call(machine, text, name, args)?
            } else {
                text::call(machine, text, name, args)?
            };
            Ok(match result {
                Value::Str(text) => Value::Markup(text),
                other => other,
            })
        }
        Value::List(list) => list::call(machine, &list.0, name, args),
        Value::Dict(map) => dict::call(machine, &map.0, name, args),
        Value::Set(set) => set::call(&set.0, name, args),
        Value::Tuple(_) | Value::Other(_) => list::sequence(value, name, args),
        Value::Bytes(bytes) => bytes::call(bytes, name, args),
        _ => number::call(value, name, args),
    }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Attribute, format!("no method '{name}'"))
}
