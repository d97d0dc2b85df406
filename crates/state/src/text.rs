//! Values inside Salt's error messages: as Python prints them, maps as the
//! `OrderedDict` of the YAML loader.

use std::borrow::Cow;

use halite_proto::Value;
use halite_proto::python;

/// Python's `str()`.
pub(crate) fn ordered_str(value: &Value) -> String {
    ordered(value).into_owned()
}

/// The same, without a copy of what is text.
pub(crate) fn ordered(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Str(text) => Cow::Borrowed(text),
        other => Cow::Owned(ordered_repr(other)),
    }
}

/// Python's `repr()`.
fn ordered_repr(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(ordered_repr).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) if map.is_empty() => "OrderedDict()".to_owned(),
        Value::Map(map) => {
            let entry = |(key, value)| format!("({}, {})", ordered_repr(key), ordered_repr(value));
            let entries: Vec<_> = map.iter().map(entry).collect();
            format!("OrderedDict([{}])", entries.join(", "))
        }
        other => python::repr(other),
    }
}
