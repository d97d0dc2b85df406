//! Merging maps, and choosing one of several by a pattern.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

use crate::error::CallError;
use crate::python;

/// Lays `over` over `under`: maps are merged, lists too if `merge_lists`, the
/// rest is replaced.
pub fn update(under: &mut Map, over: &Map, merge_lists: bool) {
    for (key, value) in over {
        let old = under.get_or_insert_with(key.clone(), || Value::Nil);
        match (old, value) {
            (Value::Map(old), Value::Map(new)) => update(old, new, merge_lists),
            (Value::List(old), Value::List(new)) if merge_lists => {
                let more: Vec<Value> = new
                    .iter()
                    .filter(|item| !old.contains(item))
                    .cloned()
                    .collect();
                old.extend(more);
            }
            (old, new) => *old = new.clone(),
        }
    }
}

/// Picks the entry of `lookup` whose key, a pattern, matches the value at
/// `path` of `data`, and lays it over `base` and under `merge`.
///
/// # Errors
/// When things to be merged are not maps.
pub fn filter_by(
    lookup: &Map,
    data: &Map,
    path: &str,
    choice: &Choice<'_>,
) -> Result<Value, CallError> {
    let found = python::traverse_map(data, path, ":");
    let values = match found {
        Some(Value::List(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let picked = values.iter().find_map(|value| {
        let text = python::str(value);
        lookup
            .iter()
            .find(|(key, value)| fnmatch(&python::str(key), &text) && !value.is_nil())
            .map(|(_, value)| value.clone())
    });
    choice.finish(lookup, picked)
}

/// What `filter_by` falls back to, and what its result is merged with.
pub struct Choice<'a> {
    /// The key of what is taken if nothing else is found.
    pub default: &'a Value,
    /// The key of what lies under the result.
    pub base: Option<&'a Value>,
    /// What is laid over the result.
    pub merge: &'a Value,
    /// Whether lists are joined where both have one.
    pub merge_lists: bool,
}

impl Choice<'_> {
    /// The result: what was picked, or the default, merged.
    ///
    /// # Errors
    /// When what is to be merged are no dictionaries.
    pub fn finish(&self, lookup: &Map, picked: Option<Value>) -> Result<Value, CallError> {
        let bad = |text: &str| CallError::exception("salt.exceptions.SaltException", text);
        let mut ret = picked.or_else(|| lookup.get_value(self.default).cloned());
        if let Some(base) = self.base.and_then(|base| lookup.get_value(base)) {
            ret = match (ret, base) {
                (None | Some(Value::Nil), base) => Some(base.clone()),
                (Some(Value::Map(over)), Value::Map(base)) => {
                    let mut merged = base.clone();
                    update(&mut merged, &over, self.merge_lists);
                    Some(merged.into())
                }
                (Some(_), Value::Map(_)) => {
                    return Err(bad(
                        "filter_by default and look-up values must both be dictionaries.",
                    ));
                }
                (ret, _) => ret,
            };
        }
        if self.merge.is_true() {
            let merge = self
                .merge
                .as_map()
                .ok_or_else(|| bad("filter_by merge argument must be a dictionary."))?;
            ret = match ret {
                None | Some(Value::Nil) => Some(merge.clone().into()),
                Some(Value::Map(mut under)) => {
                    update(&mut under, merge, self.merge_lists);
                    Some(under.into())
                }
                other => other,
            };
        }
        Ok(ret.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_merged_and_lists_only_if_asked() {
        let list = |items: &[i64]| Value::List(items.iter().copied().map(Value::from).collect());
        let old = Map::from([("m", Map::from([("a", list(&[1]))]))]);
        let new = Map::from([("m", Map::from([("a", list(&[1, 2])), ("b", 3.into())]))]);
        let mut replaced = old.clone();
        update(&mut replaced, &new, false);
        assert_eq!(replaced, new);
        let mut merged = old;
        update(&mut merged, &new, true);
        assert_eq!(merged, new);
    }

    #[test]
    fn the_default_is_a_key_of_any_kind() {
        let lookup: Map = [(Value::Int(3), Value::from("three"))]
            .into_iter()
            .collect();
        let choice = Choice {
            default: &Value::Int(3),
            base: None,
            merge: &Value::Nil,
            merge_lists: false,
        };
        let picked = filter_by(&lookup, &Map::new(), "os", &choice);
        assert_eq!(picked, Ok(Value::from("three")));
    }
}
