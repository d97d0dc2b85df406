//! Values in the notation of OpenSSL's configuration: `critical, CA:true`.

use halite_call::{CallError, python};
use halite_proto::Value;

use crate::general::Pair;

/// What a word without a value has.
pub(super) const PRESENT: &str = "__present__";

/// Whether it is critical, and its pairs.
pub(super) fn pairs(text: &str) -> (bool, Vec<(String, String)>) {
    let (critical, rest) = match text.strip_prefix("critical") {
        Some(rest) => (true, rest.trim_matches(',').trim()),
        None => (false, text),
    };
    let pairs = rest
        .split(',')
        .map(|item| {
            let (key, value) = item.trim().split_once(':').unwrap_or((item, PRESENT));
            (key.trim().to_owned(), value.trim().to_owned())
        })
        .collect();
    (critical, pairs)
}

/// Python's `word in value`: part of a text, entry of a list, key of a map.
pub(super) fn contains(value: &Value, word: &str) -> bool {
    match value {
        Value::Str(text) => text.contains(word),
        Value::List(items) => items.iter().any(|item| item.as_str() == Some(word)),
        Value::Map(map) => map.contains_key(word),
        _ => false,
    }
}

/// Typed names from text, or from a list of texts and maps.
pub(super) fn names(value: &Value) -> Result<(bool, Vec<Pair>), CallError> {
    match value {
        Value::Str(text) => {
            let (critical, pairs) = pairs(text);
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (key, Value::from(value)));
            Ok((critical, pairs.collect()))
        }
        Value::List(items) => {
            let mut pairs = Vec::new();
            for item in items {
                match item {
                    Value::Str(text) if text.contains(':') => {
                        pairs.push(crate::general::pair(text)?);
                    }
                    Value::Map(map) => {
                        pairs.extend(map.iter().map(|(k, v)| (python::str(k), v.clone())));
                    }
                    _ => {}
                }
            }
            Ok((contains(value, "critical"), pairs))
        }
        other => Err(CallError::invocation(format!(
            "names must be text or a list, not {}",
            other.type_name()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_may_be_critical() {
        let text = |pairs: &[(String, String)]| format!("{pairs:?}");
        let (critical, found) = pairs("critical, CA:TRUE, pathlen:0");
        assert!(critical);
        assert_eq!(text(&found), r#"[("CA", "TRUE"), ("pathlen", "0")]"#);
        let (critical, found) = pairs("keyid,issuer:always");
        assert!(!critical);
        assert_eq!(
            text(&found),
            r#"[("keyid", "__present__"), ("issuer", "always")]"#
        );
    }
}
