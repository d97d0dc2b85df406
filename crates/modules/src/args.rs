//! Arguments that came as text: `name=value`, and values in YAML's notation.

use halite_proto::Value;
use halite_yaml::Node;

/// Reads `name=value`: a name of word characters, dots and dashes that does
/// not start with a digit, one `=`, and a value without line breaks.
pub fn keyword(text: &str) -> Option<(&str, Value)> {
    let (name, value) = text.split_once('=')?;
    let mut chars = name.chars();
    let first = chars.next()?;
    let good_first = first == '_' || first.is_alphabetic();
    let good = |c: char| c == '_' || c == '.' || c == '-' || c.is_alphanumeric();
    // One line break at the very end is what Python's `$` lets pass.
    let value_line = value.strip_suffix('\n').unwrap_or(value);
    if good_first && chars.all(good) && !value.starts_with('=') && !value_line.contains('\n') {
        Some((name, yamlify(value_line)))
    } else {
        None
    }
}

/// A value from the text of a command line: YAML where that gives a number, a
/// truth value, `null`, or a list or map in brackets; else the text.
pub fn yamlify(text: &str) -> Value {
    let as_text = || Value::from(text);
    let trimmed = text.trim();
    let numeric = |c: char| c == '_' || c.is_ascii_digit();
    if trimmed.is_empty()
        || text.contains('\n')
        || text.starts_with('#')
        || (text.contains('_') && trimmed.chars().all(numeric))
    {
        return as_text();
    }
    if text == "None" {
        return Value::Nil;
    }
    let Some(value) = load(text) else {
        return as_text();
    };
    match value {
        Value::Map(_) if !text.starts_with('{') => as_text(),
        Value::List(_) if !text.starts_with('[') => as_text(),
        Value::Nil if trimmed == "---" => as_text(),
        // A comment was cut off.
        Value::Str(_) if text.contains('#') => as_text(),
        Value::Str(ref loaded) if loaded.is_empty() && trimmed == "|" => as_text(),
        value => value,
    }
}

fn load(text: &str) -> Option<Value> {
    halite_yaml::load(text, "argument")
        .ok()
        .map(Node::into_value)
}
