//! The order of Python's `sorted()`.

use std::cmp::Ordering;

use crate::value::{Map, Value};

/// The entries in the order of `sorted(map)`, or `None` where Python could not
/// compare two keys.
pub fn sorted(map: &Map) -> Option<Vec<(&Value, &Value)>> {
    let mut entries: Vec<_> = map.iter().collect();
    sort_by_key(&mut entries, |(key, _)| key).then_some(entries)
}

/// Sorts `items` by their keys as Python's `sort(key=..)` does, or leaves them
/// alone and returns `false` where Python could not compare two keys.
pub fn sort_by_key<T>(items: &mut [T], key: impl Fn(&T) -> &Value) -> bool {
    let mut families = items.iter().map(|item| family(key(item)));
    let Some(first) = families.next() else {
        return true;
    };
    if items.len() > 1 && (first == Family::Other || families.any(|other| other != first)) {
        return false;
    }
    items.sort_by(|a, b| compare(key(a), key(b)));
    true
}

/// Sorts as [`sort_by_key`]; keys that Python could not compare are ordered by
/// the names of their types first, as its `pprint` does.
pub fn sort_by_any_key<T>(items: &mut [T], key: impl Fn(&T) -> &Value) {
    items.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        family(a).cmp(&family(b)).then_with(|| compare(a, b))
    });
}

/// Python's `a == b`: unlike `Value`'s own, `1`, `1.0` and `True` are equal.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (family(a), family(b)) {
        (Family::Number, Family::Number) => compare(a, b) == Ordering::Equal,
        _ => a == b,
    }
}

/// Kinds of values that compare among themselves, in the order of their types'
/// names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Bytes,
    Number,
    Text,
    Other,
}

fn family(value: &Value) -> Family {
    match value {
        Value::Bytes(_) => Family::Bytes,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Family::Number,
        Value::Str(_) => Family::Text,
        _ => Family::Other,
    }
}

/// A total order within each family: sorting may panic with anything less.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => {
            // Zeros are equal; NaN, which Python leaves where it is, is last.
            a.partial_cmp(b)
                .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
        (Value::Float(a), b) => int(b).map_or(Ordering::Equal, |b| int_to_float(b, *a).reverse()),
        (a, Value::Float(b)) => int(a).map_or(Ordering::Equal, |a| int_to_float(a, *b)),
        _ => int(a).cmp(&int(b)),
    }
}

fn int(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(bool) => Some(i128::from(*bool)),
        other => other.as_int(),
    }
}

/// Compares exactly: rounding the integer would make the order intransitive.
fn int_to_float(int: i128, float: f64) -> Ordering {
    if float.is_nan() {
        return Ordering::Less;
    }
    let whole = float.floor();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates beyond any integer here"
    )]
    let order = int.cmp(&(whole as i128));
    order.then(if float > whole {
        Ordering::Less
    } else {
        Ordering::Equal
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::repr;

    #[test]
    fn keys_sort_or_cannot() {
        let mixed = Map::from([(Value::from("a"), 1), (Value::from(1), 2)]);
        assert!(sorted(&mixed).is_none());
        let numbers = Map::from([
            (Value::from(2), 1),
            (Value::from(1.5), 2),
            (Value::from(true), 3),
        ]);
        let keys: Vec<_> = sorted(&numbers)
            .unwrap()
            .into_iter()
            .map(|(key, _)| repr(key))
            .collect();
        assert_eq!(keys, ["True", "1.5", "2"]);
    }
}
