//! Arguments given as text: `name=value`, and values in YAML's notation.

use halite_proto::Value;
use halite_yaml::Node;

/// Marks a map among the arguments as keyword arguments.
const KWARG_MARK: &str = "__kwarg__";

/// The arguments of a call, parted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parted {
    /// Those by position.
    pub positional: Vec<Value>,
    /// Those by name, in their order; one may come twice.
    pub named: Vec<(Value, Value)>,
}

/// Parts arguments as they came: positional values, maps marked `__kwarg__`,
/// and texts of the form `name=value`.
pub fn part(args: &[Value]) -> Parted {
    let mut parted = Parted::default();
    for arg in args {
        match arg {
            Value::Map(map) if map.get(KWARG_MARK) == Some(&Value::Bool(true)) => {
                let named = map
                    .iter()
                    .filter(|(name, _)| name.as_str() != Some(KWARG_MARK));
                let named = named.map(|(name, value)| (name.clone(), value.clone()));
                parted.named.extend(named);
            }
            Value::Str(text) => match keyword(text) {
                Some((name, value)) => parted.named.push((name.into(), value)),
                None => parted.positional.push(arg.clone()),
            },
            _ => parted.positional.push(arg.clone()),
        }
    }
    parted
}

/// As [`part`], for who judges arguments that another program is going to part:
/// `None` where that one, a minion of Salt perhaps, could do it otherwise.
pub fn part_surely(args: &[Value]) -> Option<Parted> {
    let is_unsure = |arg: &Value| match arg {
        Value::Map(map) => map
            .get(KWARG_MARK)
            .is_some_and(|mark| *mark != Value::Bool(true)),
        Value::Str(text) => is_unsure_keyword(text),
        _ => false,
    };
    if args.iter().any(is_unsure) {
        return None;
    }
    let parted = part(args);
    let mut names: Vec<&str> = Vec::with_capacity(parted.named.len());
    for (name, _) in &parted.named {
        names.push(name.as_str()?);
    }
    names.sort_unstable();
    let is_twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    (!is_twice).then_some(parted)
}

/// Whether it depends on the program's notion of a letter if this has a name.
fn is_unsure_keyword(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else {
        return false;
    };
    let may_be =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    !name.is_ascii() && name.chars().all(may_be)
}

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

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;

    fn marked(mark: impl Into<Value>, names: &[&str]) -> Value {
        let mut map = Map::from([(KWARG_MARK, mark.into())]);
        map.extend(
            names
                .iter()
                .map(|name| (Value::from(*name), Value::from(1))),
        );
        map.into()
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        let parted = part(&["a=1".into(), "b".into(), marked(true, &["c"]), 7.into()]);
        assert_eq!(parted.positional, ["b".into(), 7.into()]);
        let named: Vec<Value> = parted.named.into_iter().map(|(name, _)| name).collect();
        assert_eq!(named, ["a".into(), "c".into()]);
    }

    #[test]
    fn what_could_be_parted_otherwise_is_judged_by_nobody() {
        for args in [
            vec![marked(1, &["a"])],
            vec![marked(false, &[])],
            vec!["a=1".into(), "a=2".into()],
            vec!["a=1".into(), marked(true, &["a"])],
            vec!["\u{b2}=1".into()],
            vec!["a\u{345}=1".into()],
        ] {
            assert_eq!(part_surely(&args), None, "{args:?}");
        }
        for args in [
            vec!["a=1".into(), "b".into(), marked(true, &["c"])],
            vec!["echo \u{b2}=1".into(), "=".into(), "a==b".into()],
            vec![Map::from([("a", 1)]).into()],
        ] {
            assert_eq!(part_surely(&args), Some(part(&args)), "{args:?}");
        }
    }
}
