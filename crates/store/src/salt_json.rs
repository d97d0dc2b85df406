//! JSON as Salt's returners write it, made fit for a column of `jsonb`.

use std::fmt::Display;

use halite_proto::json::{self, Style};
use halite_proto::{Map, Value, python};

use crate::error::StoreError;

/// Stands for the NUL that PostgreSQL cannot hold.
const REPLACEMENT: &str = "\u{fffd}";

/// Writes a value. What JSON has no word for becomes its text in Python.
pub(crate) fn write(place: impl Display, value: &Value) -> Result<String, StoreError> {
    let style = Style {
        default: Some(python::str),
        ..Style::default()
    };
    let write = |value: &Value| {
        json::write(value, style).map_err(|source| StoreError::Json {
            place: place.to_string(),
            source,
        })
    };
    let text = write(value)?;
    // Rare, and most texts that have these letters are fit as well.
    let is_fit = !["\\u0000", "NaN", "Infinity"]
        .iter()
        .any(|word| text.contains(word));
    if is_fit { Ok(text) } else { write(&fit(value)) }
}

/// The value without NUL and without numbers that are not finite.
fn fit(value: &Value) -> Value {
    match value {
        Value::Str(text) => text.replace('\0', REPLACEMENT).into(),
        Value::Float(number) if !number.is_finite() => python::str(value).into(),
        Value::List(items) => Value::List(items.iter().map(fit).collect()),
        Value::Map(map) => {
            let mut all = Map::new();
            for (key, value) in map.iter() {
                all.insert(fit(key), fit(value));
            }
            all.into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_in_json_is_the_fault_of_the_value() {
        let key = Value::from(vec![Value::from("a"), "b".into()]);
        let mut map = Map::new();
        map.insert(key, 1);
        let error = write("here", &map.into()).unwrap_err();
        assert!(error.is_of_value(), "{error}");
    }

    #[test]
    fn what_a_column_cannot_hold_is_replaced() {
        let value = Map::from([
            ("a\0", Value::from("b\0c")),
            ("n", Value::Float(f64::NAN)),
            ("plain", "\\u0000".into()),
        ]);
        let text = write("here", &value.into()).unwrap();
        assert_eq!(
            text,
            r#"{"a\ufffd": "b\ufffdc", "n": "nan", "plain": "\\u0000"}"#
        );
    }
}
