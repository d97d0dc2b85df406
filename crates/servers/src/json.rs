//! Data as the programs of servers write and read it.

use halite_jinja::{JsonStyle, from_json, to_json};
use halite_proto::Value;

/// What a text of JSON says.
pub(crate) fn read(text: &str) -> Option<Value> {
    from_json(text)
}

/// A value as JSON.
pub(crate) fn write(value: &Value) -> String {
    to_json(value, JsonStyle::default()).unwrap_or_default()
}
