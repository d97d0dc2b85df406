//! The list target: ids separated by commas, or a list of ids.
//!
//! Invariant: ids are compared whole and unchanged; blanks around a comma
//! belong to the id, as on a Python minion.

use halite_proto::Value;

/// The ids that the list target `tgt` names, in order, empty ones left out.
/// Anything but text and lists of text names nobody.
pub fn ids(tgt: &Value) -> Vec<&str> {
    match tgt {
        Value::Str(text) => split(text).collect(),
        Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The ids in a comma list.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|id| !id.is_empty())
}

/// Whether the list target `tgt` names `id`.
pub fn contains(tgt: &Value, id: &str) -> bool {
    match tgt {
        Value::Str(text) => split(text).any(|item| item == id),
        Value::List(items) => items.iter().any(|item| item.as_str() == Some(id)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_text_with_commas_or_a_list() {
        let text = Value::from("web1,web2,,db");
        assert_eq!(ids(&text), ["web1", "web2", "db"]);
        assert!(contains(&text, "db"));
        assert!(!contains(&text, "web"));
        assert!(!contains(&Value::from("web1, web2"), "web2"));
        let list = Value::List(vec!["a,b".into(), 1.into(), "c".into()]);
        assert_eq!(ids(&list), ["a,b", "c"]);
        assert!(contains(&list, "a,b"));
        assert!(!contains(&Value::Nil, "None"));
    }
}
