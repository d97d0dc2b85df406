//! Python's treatment of values where a function's result depends on it: `str()`,
//! `int()`, comma separated lists, and walking `a:b:c` paths.

pub use halite_proto::python::{equal, repr, str};
use halite_proto::{Map, Value};

use crate::error::CallError;

/// `int(value)`.
///
/// # Errors
/// `ValueError` for text that is no number, `TypeError` for what has none.
pub fn int(value: &Value) -> Result<i64, CallError> {
    let too_large = || CallError::exception("OverflowError", "the number is too large");
    match value {
        Value::Bool(bool) => Ok(i64::from(*bool)),
        Value::Int(int) => i64::try_from(*int).map_err(|_| too_large()),
        Value::Float(float) if float.is_finite() && float.abs() < 9e18 =>
        {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked, and int() cuts too"
            )]
            Ok(*float as i64)
        }
        Value::Float(_) => Err(too_large()),
        Value::Str(text) => text.trim().replace('_', "").parse().map_err(|_| {
            CallError::exception(
                "ValueError",
                format!("invalid literal for int() with base 10: {}", repr(value)),
            )
        }),
        _ => Err(CallError::wrong_type(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            value.type_name()
        ))),
    }
}

/// `float(value)`.
///
/// # Errors
/// `ValueError` or `TypeError`.
pub fn float(value: &Value) -> Result<f64, CallError> {
    match value {
        Value::Bool(bool) => Ok(f64::from(u8::from(*bool))),
        Value::Str(text) => text.trim().parse().map_err(|_| {
            CallError::exception(
                "ValueError",
                format!("could not convert string to float: {}", repr(value)),
            )
        }),
        _ => value.as_f64().ok_or_else(|| {
            CallError::wrong_type(format!(
                "float() argument must be a string or a real number, not '{}'",
                value.type_name()
            ))
        }),
    }
}

/// A list of texts from a list or from comma separated text; `None` is none.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Nil => Vec::new(),
        Value::List(items) => items.iter().map(str).collect(),
        other => str(other)
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect(),
    }
}

/// Walks `key` through maps and, by index, lists (`a:b:0`).
pub fn traverse_map<'v>(data: &'v Map, key: &str, delimiter: &str) -> Option<&'v Value> {
    if delimiter.is_empty() {
        data.get(key)
    } else {
        halite_target::data::traverse(data, key, delimiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_through_maps_and_lists() {
        let inner = Map::from([("b", Value::from("x"))]);
        let data = Map::from([("a", vec![Value::from(7), inner.into()])]);
        let at = |key, delimiter| traverse_map(&data, key, delimiter);
        assert_eq!(at("a:0", ":"), Some(&Value::from(7)));
        assert_eq!(at("a:1:b", ":"), Some(&Value::from("x")));
        assert_eq!(at("a|b", "|"), Some(&Value::from("x")));
        assert_eq!(at("a:9", ":"), None);
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        assert_eq!(int(&Value::from(" 12 ")).unwrap(), 12);
        assert_eq!(int(&Value::Float(1.9)).unwrap(), 1);
        assert_eq!(
            int(&Value::from("x")).unwrap_err().to_string(),
            "ValueError: invalid literal for int() with base 10: 'x'"
        );
    }
}
