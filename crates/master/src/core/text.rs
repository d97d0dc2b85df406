//! Patterns and texts as the configuration's rules use them.

use halite_proto::Value;
use halite_target::pcre;

/// Whether the whole text matches the regular expression; one that cannot be
/// understood matches nothing.
pub fn fullmatch(pattern: &str, text: &str) -> bool {
    pcre::match_start(&format!(r"(?:{pattern})\Z"), text).unwrap_or(false)
}

/// The text Python's `str()` makes of a scalar; `None` for what has parts.
pub fn python_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Str(text) => text.clone(),
        Value::Int(int) => int.to_string(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Nil => "None".to_owned(),
        Value::Float(float) => format!("{float:?}"),
        Value::Bytes(_) | Value::List(_) | Value::Map(_) | Value::Ext(..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_match_is_not_a_prefix_match() {
        assert!(fullmatch("a|ab", "ab"));
        assert!(!fullmatch("a", "ab"));
        assert!(!fullmatch("(", "("));
    }
}
