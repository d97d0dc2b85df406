//! Merges the documentation from several minions.

use std::collections::BTreeMap;

use halite_proto::{Map, Value};

/// The texts by function, sorted; of several minions the first that has one
/// counts. A minion that returned anything else has none.
pub(super) fn merged(returns: &Map) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for docs in returns.values().filter_map(Value::as_map) {
        for (name, text) in docs {
            if let (Some(name), Some(text)) = (name.as_str(), text.as_str())
                && !text.is_empty()
            {
                texts
                    .entry(name.to_owned())
                    .or_insert_with(|| text.to_owned());
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_of_each_function_counts() {
        let docs =
            |entries: &[(&str, Value)]| Value::from(entries.iter().cloned().collect::<Map>());
        let returns = Map::from([
            (
                "a",
                docs(&[("test.ping", "one".into()), ("test.echo", Value::Nil)]),
            ),
            ("b", "VALUE_TRIMMED".into()),
            (
                "c",
                docs(&[("test.ping", "two".into()), ("cmd.run", "run".into())]),
            ),
        ]);
        let texts: Vec<_> = merged(&returns).into_iter().collect();
        let expect = [("cmd.run", "run"), ("test.ping", "one")];
        assert_eq!(
            texts,
            expect.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }
}
