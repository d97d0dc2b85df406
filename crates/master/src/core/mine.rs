//! The mine: what minions leave for other minions to read.
//!
//! Invariant: a value with an `allow_tgt` is shown only to the minions it
//! names.

use halite_proto::{Map, Value};

/// Marks a stored value that comes with rules.
const ACL_MARK: &str = "__saltmine_acl__";
const ACL_DATA: &str = "__data__";

/// Whom a stored value is for.
#[derive(Debug, PartialEq)]
pub struct Allowed<'a> {
    /// The target.
    pub tgt: &'a Value,
    /// How the target is to be read.
    pub tgt_type: &'a str,
}

/// The value of a mine entry, if `may_read` agrees to its rules.
pub fn readable<'a>(
    entry: &'a Value,
    may_read: &mut dyn FnMut(Allowed<'_>) -> bool,
) -> Option<&'a Value> {
    let Some(wrapped) = entry.as_map().filter(|map| map.contains_key(ACL_MARK)) else {
        return Some(entry);
    };
    let data = wrapped.get(ACL_DATA)?;
    match wrapped.get("allow_tgt") {
        None | Some(Value::Nil) => Some(data),
        Some(tgt) => {
            let tgt_type = wrapped
                .get("allow_tgt_type")
                .and_then(Value::as_str)
                .unwrap_or("glob");
            may_read(Allowed { tgt, tgt_type }).then_some(data)
        }
    }
}

/// Adds what minion `id` has for the functions to the answer.
pub fn gather(
    answer: &mut Map,
    id: &str,
    mine: &Map,
    funs: &[String],
    keyed: bool,
    may_read: &mut dyn FnMut(Allowed<'_>) -> bool,
) {
    for fun in funs {
        let Some(value) = mine.get(fun).and_then(|entry| readable(entry, may_read)) else {
            continue;
        };
        if keyed {
            let of_fun = answer.get_or_insert_with(fun.as_str(), || Value::Map(Map::new()));
            if let Some(of_fun) = of_fun.as_map_mut() {
                of_fun.insert(id, value.clone());
            }
        } else {
            answer.insert(id, value.clone());
        }
    }
}

/// The target type that a minion's question is read with: minions may not
/// probe pillar values with wildcards.
pub fn exact_type(tgt_type: &str) -> &str {
    match tgt_type {
        "pillar" => "pillar_exact",
        "compound" => "compound_pillar_exact",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded(tgt: &str) -> Value {
        Value::from(Map::from([
            (ACL_DATA, Value::from(7)),
            (ACL_MARK, Value::from(1)),
            ("allow_tgt", Value::from(tgt)),
            ("allow_tgt_type", Value::from("glob")),
        ]))
    }

    #[test]
    fn a_guarded_value_is_shown_to_its_targets_only() {
        let mut web_only = |allowed: Allowed<'_>| *allowed.tgt == Value::from("web*");
        let seven = Value::from(7);
        assert_eq!(readable(&guarded("web*"), &mut web_only), Some(&seven));
        assert_eq!(readable(&guarded("db*"), &mut web_only), None);
        assert_eq!(readable(&seven, &mut web_only), Some(&seven));
    }

    #[test]
    fn one_function_gives_values_and_several_give_maps() {
        let funs = ["a.b".to_owned(), "c.d".to_owned()];
        let mine = Map::from([("a.b", 1), ("c.d", 2)]);
        let mut answer = Map::new();
        gather(&mut answer, "web1", &mine, &funs, true, &mut |_| true);
        gather(&mut answer, "web2", &mine, &funs, true, &mut |_| true);
        let of_ab = answer.get("a.b").and_then(Value::as_map).unwrap();
        assert_eq!(of_ab.len(), 2);
        let mut answer = Map::new();
        gather(&mut answer, "web1", &mine, &funs[..1], false, &mut |_| true);
        assert_eq!(answer, Map::from([("web1", 1)]));
    }
}
