//! Words of a command line as arguments of a function.
//!
//! A word is read as YAML if that gives a number, a boolean, nothing, or a
//! structure in brackets; any other word stays text. `name=value` is a keyword
//! argument. The rules are those of `salt/utils/args.py` (3008.5).

use halite_proto::{Jid, Map, Value};

/// Marks the last argument as the keyword arguments.
pub const KWARG_MARK: &str = "__kwarg__";

/// The arguments in the form that is published: positional ones, then the
/// keyword arguments as a marked map, if there are any. The values of keywords
/// in `no_parse` stay text.
pub fn parse<S: AsRef<str>>(words: &[S], no_parse: &[String]) -> Vec<Value> {
    let mut positional = Vec::new();
    let mut keywords = Map::new();
    for word in words {
        let word = word.as_ref();
        match keyword(word) {
            Some((name, value)) if no_parse.iter().any(|other| other == name) => {
                keywords.insert(name, value);
            }
            Some((name, value)) => {
                keywords.insert(name, yamlify(value));
            }
            None => positional.push(jid_as_text(yamlify(word))),
        }
    }
    if !keywords.is_empty() {
        let mut marked = Map::from([(KWARG_MARK, true)]);
        marked.extend(keywords);
        positional.push(marked.into());
    }
    positional
}

/// The value of one word.
pub fn yamlify(word: &str) -> Value {
    let text = || Value::from(word);
    let trimmed = word.trim();
    if matches!(trimmed, "" | "---" | "...") || word.contains(['\t', '\r', '\n']) {
        return text();
    }
    let is_number_with_gaps = |c: char| c.is_ascii_digit() || c == '_';
    if word.contains('_') && trimmed.chars().all(is_number_with_gaps) {
        return text();
    }
    if word == "None" {
        return Value::Nil;
    }
    let Ok(value) = halite_yaml::load(word, "argument").map(halite_yaml::Node::into_value) else {
        return text();
    };
    if word.contains('#') {
        // What YAML takes for a comment must not get lost.
        return match value {
            Value::Str(_) | Value::Nil => text(),
            other => other,
        };
    }
    match value {
        Value::Map(_) if !word.starts_with('{') => text(),
        Value::List(_) if !word.starts_with('[') => text(),
        Value::Str(empty) if empty.is_empty() && matches!(word, "|" | "!") => text(),
        Value::Nil if word == "!" => text(),
        Value::Bytes(_) | Value::Ext(..) => text(),
        other => other,
    }
}

/// `name` and `value` of a word `name=value`, unless the text has several
/// lines or `==` stands there.
fn keyword(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut chars = name.chars();
    let first = chars.next()?;
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    if !(first == '_' || first.is_alphabetic())
        || !chars.all(|c| is_word(c) || c == '.' || c == '-')
        || value.starts_with('=')
    {
        return None;
    }
    let value = value.strip_suffix('\n').unwrap_or(value);
    (!value.contains('\n')).then_some((name, value))
}

/// A job's id is text, though it looks like a number.
fn jid_as_text(value: Value) -> Value {
    match value {
        Value::Int(int) => {
            let digits = int.to_string();
            if Jid::parse(digits.as_str()).is_ok() {
                Value::Str(digits)
            } else {
                Value::Int(int)
            }
        }
        other => other,
    }
}

/// Positional arguments, and those with names.
/// The positional arguments, and those with names.
pub fn split(mut args: Vec<Value>) -> (Vec<Value>, Map) {
    match args.pop() {
        Some(Value::Map(mut map)) if map.contains_key(KWARG_MARK) => {
            map.remove(KWARG_MARK);
            (args, map)
        }
        last => {
            args.extend(last);
            (args, Map::new())
        }
    }
}
