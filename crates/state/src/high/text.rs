//! Values inside Salt's error messages: as Python prints them, maps as the
//! `OrderedDict` that the YAML loader makes.

use halite_output::python;
use halite_proto::Value;

/// Python's `str()`.
pub(crate) fn ordered_str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        other => ordered_repr(other),
    }
}

/// Python's `repr()`.
pub(crate) fn ordered_repr(value: &Value) -> String {
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
