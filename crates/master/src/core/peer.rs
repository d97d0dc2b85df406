//! What minions may ask other minions to do (`peer`) or to tell (`mine_get`).
//!
//! Invariant: without a matching entry of the configuration the answer is no.

use halite_proto::{Map, MinionId, Value};
use halite_target::pcre;

/// The entries of an option `{<regex on the id>: [<entry>, ..]}` that hold for
/// the minion `id`.
pub fn entries_for(option: Option<&Value>, id: &MinionId) -> Vec<Value> {
    option
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(pattern, _)| {
            pattern
                .as_str()
                .is_some_and(|pattern| pcre::match_start(pattern, id.as_str()).unwrap_or(false))
        })
        .filter_map(|(_, entries)| entries.as_list())
        .flatten()
        .cloned()
        .collect()
}

/// The functions of `asked` that `mine_get` lets the minion read; all of them
/// where the option is not set.
pub fn readable_in_mine(option: Option<&Value>, id: &MinionId, asked: Vec<String>) -> Vec<String> {
    if matches!(option, None | Some(Value::Nil)) {
        return asked;
    }
    let entries = entries_for(option, id);
    asked
        .into_iter()
        .filter(|fun| {
            entries
                .iter()
                .filter_map(Value::as_str)
                .any(|pattern| pcre::match_start(pattern, fun).unwrap_or(false))
        })
        .collect()
}

/// Whether the functions may be published by a minion at all: one that
/// publishes again could go round in circles.
pub fn is_recursive(funs: &[&str]) -> bool {
    funs.iter().any(|fun| fun.trim().starts_with("publish."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(pattern: &str, entry: &str) -> Value {
        Value::from(Map::from([(
            pattern,
            Value::List(vec![Value::from(entry)]),
        )]))
    }

    #[test]
    fn entries_are_found_by_the_start_of_the_id() {
        let id = MinionId::parse("web10").unwrap();
        let some = option("web1", "test.*");
        assert_eq!(entries_for(Some(&some), &id), [Value::from("test.*")]);
        assert!(entries_for(Some(&option("eb", "test.*")), &id).is_empty());
        assert!(entries_for(Some(&option("(", "test.*")), &id).is_empty());
        assert!(entries_for(Some(&Value::from(true)), &id).is_empty());
        assert!(entries_for(None, &id).is_empty());
    }

    #[test]
    fn mine_get_set_but_not_matching_allows_nothing() {
        let id = MinionId::parse("web1").unwrap();
        let asked = || vec!["test.ping".to_owned(), "cmd.run".to_owned()];
        assert_eq!(readable_in_mine(None, &id, asked()), asked());
        assert_eq!(readable_in_mine(Some(&Value::Nil), &id, asked()), asked());
        let some = option("web", "test");
        assert_eq!(readable_in_mine(Some(&some), &id, asked()), ["test.ping"]);
        assert!(readable_in_mine(Some(&option("db", ".*")), &id, asked()).is_empty());
    }

    #[test]
    fn publishing_does_not_publish() {
        assert!(is_recursive(&["test.ping", " publish.publish"]));
        assert!(!is_recursive(&["test.ping"]));
    }
}
