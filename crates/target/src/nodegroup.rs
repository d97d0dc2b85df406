//! Node groups: named targets of the configuration, expanded in place.
//!
//! Invariant: the expansion ends, because a group within itself is an error and the
//! number of words is limited.

use halite_proto::{Map, Value, python};

use crate::TargetError;
use crate::limits::{NESTING_MAX, WORDS_MAX};

const OPERATORS: [&str; 5] = ["and", "or", "not", "(", ")"];

/// The words of the group `name`, with the groups in it written out.
///
/// A group without operators, wildcards and types is a list of ids (`L@`), or
/// a regular expression (`E@`) if it has the characters of one. A group with
/// other groups in it is put in parentheses; one without is not, as in Salt.
///
/// # Errors
/// When there is no such group, when it is not text or a list, or when a group
/// is part of itself.
pub fn expand(name: &str, groups: &Map) -> Result<Vec<String>, TargetError> {
    let mut expansion = Expansion {
        groups,
        open: Vec::new(),
        words: 0,
    };
    expansion.group(name, true)
}

/// The compound target `expression` with every `N@name` written out, as
/// clients send it to a master.
///
/// A group of several words stands in parentheses: `not N@web` means nobody of
/// the group, whatever it is made of.
///
/// # Errors
/// As [`expand`]; the offset is that of the word.
pub fn expand_all(expression: &str, groups: &Map) -> Result<String, TargetError> {
    let mut words = Vec::new();
    for word in expression.split_whitespace() {
        match word.strip_prefix("N@") {
            Some(name) if !name.is_empty() => {
                let at = word.as_ptr() as usize - expression.as_ptr() as usize;
                let group = expand_together(name, groups);
                words.extend(group.map_err(|error| error.shifted(at + 2))?);
            }
            _ => words.push(word.to_owned()),
        }
    }
    Ok(words.join(" "))
}

/// The words of a group that is a part of an expression: they hold together.
pub(crate) fn expand_together(name: &str, groups: &Map) -> Result<Vec<String>, TargetError> {
    let words = expand(name, groups)?;
    Ok(match words.len() > 1 && !is_enclosed(&words) {
        true => in_parentheses(words),
        false => words,
    })
}

/// Whether the first word is a parenthesis that the last one closes.
fn is_enclosed(words: &[String]) -> bool {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && at + 1 == words.len();
        }
    }
    false
}

struct Expansion<'g> {
    groups: &'g Map,
    open: Vec<String>,
    words: usize,
}

impl Expansion<'_> {
    fn group(&mut self, name: &str, outermost: bool) -> Result<Vec<String>, TargetError> {
        let error = |message: String| Err(TargetError::new(0, message));
        if self.open.iter().any(|open| open == name) {
            let path = self.open.join(", ");
            return error(format!(
                "the node group {name:?} is part of itself, by way of {path}"
            ));
        }
        if self.open.len() >= NESTING_MAX {
            return error(format!(
                "node groups are nested more than {NESTING_MAX} deep"
            ));
        }
        let words: Vec<String> = match self.groups.get(name) {
            Some(Value::Str(text)) => text.split_whitespace().map(str::to_owned).collect(),
            Some(Value::List(items)) => items.iter().map(python::str).collect(),
            Some(other) => {
                let found = other.type_name();
                return error(format!(
                    "the node group {name:?} is a {found}, not text or a list"
                ));
            }
            None => return error(format!("there is no node group {name:?}")),
        };
        self.words += words.len();
        if self.words > WORDS_MAX {
            return error(format!("node groups stand for more than {WORDS_MAX} words"));
        }
        self.open.push(name.to_owned());
        let mut out = Vec::with_capacity(words.len());
        let mut nested = false;
        for word in &words {
            match word.strip_prefix("N@") {
                Some(inner) if !inner.is_empty() => {
                    nested = true;
                    out.extend(self.group(inner, false)?);
                }
                _ => out.push(word.clone()),
            }
        }
        self.open.pop();
        if nested && outermost {
            return Ok(in_parentheses(out));
        }
        if let Some(joined) = joined(&words) {
            return Ok(vec![joined]);
        }
        Ok(if outermost {
            words
        } else {
            in_parentheses(out)
        })
    }
}

fn in_parentheses(words: Vec<String>) -> Vec<String> {
    if words.is_empty() {
        return words;
    }
    let mut out = vec!["(".to_owned()];
    out.extend(words);
    out.push(")".to_owned());
    out
}

/// A group that only lists ids, or patterns of ids, as one word.
fn joined(words: &[String]) -> Option<String> {
    let typed =
        |word: &str| matches!(word.as_bytes(), [b'A'..=b'Z', b'@', ..]) || word.contains('*');
    if words
        .iter()
        .any(|word| OPERATORS.contains(&word.as_str()) || typed(word))
    {
        return None;
    }
    let regex = |word: &String| word.contains(['(', '[', '{', '\\', '?', '}', ']', ')']);
    let engine = if words.iter().any(regex) { 'E' } else { 'L' };
    Some(format!("{engine}@{}", words.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Map {
        Map::from([
            ("ids", Value::from("web1 web2")),
            ("list", Value::List(vec!["web1".into(), "web2".into()])),
            ("any", Value::from("web* or db1")),
            ("regex", Value::from("web[12]")),
            ("nested", Value::from("N@any and not N@ids")),
            ("deep", Value::from("N@nested or x1")),
            ("loop", Value::from("N@pool or x")),
            ("pool", Value::from("N@loop")),
            ("bad", Value::from(1)),
        ])
    }

    #[test]
    fn groups_are_written_out_as_in_salt() {
        for (name, expected) in [
            ("ids", "L@web1,web2"),
            ("list", "L@web1,web2"),
            ("any", "web* or db1"),
            ("regex", "E@web[12]"),
            ("nested", "( ( web* or db1 ) and not L@web1,web2 )"),
            ("deep", "( ( ( web* or db1 ) and not L@web1,web2 ) or x1 )"),
        ] {
            assert_eq!(
                expand(name, &groups()).unwrap().join(" "),
                expected,
                "{name}"
            );
        }
        assert_eq!(
            expand_all("G@os:x and N@ids", &groups()).unwrap(),
            "G@os:x and L@web1,web2"
        );
    }

    #[test]
    fn a_group_within_an_expression_holds_together() {
        let groups = Map::from([
            ("any", Value::from("web* or db1")),
            ("two", Value::from("( a* ) or ( b* )")),
            ("done", Value::from("( a* or b* )")),
            ("bad", Value::from("( a*")),
        ]);
        for (expression, expected) in [
            ("not N@any", "not ( web* or db1 )"),
            ("N@any", "( web* or db1 )"),
            ("x and N@two", "x and ( ( a* ) or ( b* ) )"),
            ("x and N@done", "x and ( a* or b* )"),
            ("x and N@bad", "x and ( ( a* )"),
        ] {
            assert_eq!(expand_all(expression, &groups).unwrap(), expected);
        }
    }

    #[test]
    fn a_group_in_itself_is_an_error() {
        let error = expand("loop", &groups()).unwrap_err();
        assert_eq!(
            error.message,
            "the node group \"loop\" is part of itself, by way of loop, pool"
        );
        assert!(expand("bad", &groups()).is_err());
        let error = expand_all("web1 or N@none", &groups()).unwrap_err();
        assert_eq!(
            (error.offset, error.message.as_str()),
            (10, "there is no node group \"none\"")
        );
    }
}
