//! Parses the output of `iptables-save`.
//!
//! Invariant: a rule only goes into a chain that the same text has declared.

use halite_call::{CallError, shlex};
use halite_proto::{Map, Value};

use super::options;

fn bad(message: impl Into<String>) -> CallError {
    CallError::exception("ValueError", message)
}

/// Tables, their chains, and the rules of those.
pub(super) fn listing(text: &str) -> Result<Map, CallError> {
    let mut tables = Map::new();
    let mut table = String::new();
    for line in text.lines() {
        if line.starts_with('*') {
            table = line.replace('*', "");
            tables.insert(table.as_str(), Map::new());
        } else if line.starts_with(':') {
            let (name, chain) = declared(line)?;
            chains(&mut tables, &table)?.insert(name, chain);
        } else if line.starts_with("-A") {
            let (name, rule) = rule(line)?;
            let chain = chains(&mut tables, &table)?
                .get_mut(&name)
                .and_then(Value::as_map_mut)
                .ok_or_else(|| bad(format!("the chain {name} is not declared")))?;
            if let Some(Value::List(comments)) = rule.get("comment") {
                let comment = comments.first().and_then(Value::as_str).unwrap_or_default();
                let comment = comment.trim_matches('"').to_owned();
                if let Some(Value::Map(by_comment)) = chain.get_mut("rules_comment") {
                    by_comment.insert(comment, rule.clone());
                }
            }
            if let Some(Value::List(rules)) = chain.get_mut("rules") {
                rules.push(rule.into());
            }
        }
    }
    Ok(tables)
}

fn chains<'m>(tables: &'m mut Map, table: &str) -> Result<&'m mut Map, CallError> {
    tables
        .get_mut(table)
        .and_then(Value::as_map_mut)
        .ok_or_else(|| bad("a chain stands outside of all tables"))
}

/// `:INPUT ACCEPT [0:0]`
fn declared(line: &str) -> Result<(String, Map), CallError> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(policy), Some(counters)) = (words.next(), words.next(), words.next())
    else {
        return Err(bad(format!("not a chain: {line}")));
    };
    let counters = counters.replace(['[', ']'], "");
    let (packets, bytes) = counters
        .split_once(':')
        .ok_or_else(|| bad(format!("not a chain: {line}")))?;
    let chain = Map::from([
        ("policy", Value::from(policy)),
        ("packet count", packets.into()),
        ("byte count", bytes.into()),
        ("rules", Value::List(Vec::new())),
        ("rules_comment", Map::new().into()),
    ]);
    Ok((name.replace(':', ""), chain))
}

/// `-A INPUT ! -s 10.0.0.1 -j DROP`
fn rule(line: &str) -> Result<(String, Map), CallError> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for (word, value) in pairs(shlex::split(line)?) {
        let Some(name) = options::option(&word) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => found.push((name, vec![value])),
        }
    }
    let chain = found
        .iter()
        .find(|(name, _)| *name == "append")
        .and_then(|(_, values)| values.first().cloned())
        .unwrap_or_default();
    let rule = options::NAMES
        .split_whitespace()
        .filter(|name| *name != "append")
        .filter_map(|name| {
            let (_, values) = found.iter().find(|(known, _)| *known == name)?;
            let values: Vec<Value> = values.iter().map(|v| Value::from(v.as_str())).collect();
            Some((name, Value::List(values)))
        })
        .collect();
    Ok((chain, rule))
}

/// Options with what follows them; a `!` belongs to the value.
fn pairs(words: Vec<String>) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut negated = false;
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let before_option = words.peek().is_some_and(|next| next.starts_with('-'));
        if word == "!" && before_option {
            negated = true;
        } else if word.starts_with('-') {
            let value = if std::mem::take(&mut negated) {
                "!"
            } else {
                ""
            };
            pairs.push((word, value.to_owned()));
        } else if let Some((_, value)) = pairs.last_mut() {
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(&word);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negation_belongs_to_the_value() {
        let words = shlex::split("-A IN ! -s 1.2.3.4 --syn -j LOG --log-prefix \"a b\"").unwrap();
        let pairs = pairs(words);
        let flat: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            flat,
            [
                ("-A", "IN"),
                ("-s", "! 1.2.3.4"),
                ("--syn", ""),
                ("-j", "LOG"),
                ("--log-prefix", "a b")
            ]
        );
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        for text in [
            ":INPUT ACCEPT [0:0]",
            "*filter\n-A INPUT -j DROP",
            "*filter\n:INPUT",
            "*f\n:A B [1]",
        ] {
            assert!(listing(text).is_err(), "{text}");
        }
        assert!(listing("# a comment\nCOMMIT\n").unwrap().is_empty());
    }
}
