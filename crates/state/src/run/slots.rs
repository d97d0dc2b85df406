//! Slots: arguments that are the result of an execution function, called right
//! before the state (`__slot__:salt:mod.fun(args).key ~ text`).
//!
//! Salt 3008.5: `State.format_slots`, `salt.utils.args.parse_function`. Words are
//! split as by Python's `shlex`, so spaces outside quotes vanish.

use halite_proto::{Map, Value};

const MARK: &str = "__slot__:";

/// A slot, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) fun: String,
    pub(super) args: Vec<Value>,
    pub(super) kwargs: Map,
    /// The way into the result.
    path: Option<String>,
    /// What is put behind the result.
    append: Option<String>,
}

/// Parses a slot, or `None` if the text is not a valid slot.
pub(super) fn read(text: &str) -> Option<Slot> {
    let source = text.strip_prefix(MARK)?.strip_prefix("salt:")?;
    let (fun, args, kwargs) = parse_call(source)?;
    let (call, append) = match source.split_once('~') {
        Some((call, append)) => (call, Some(unquoted(append.trim()).to_owned())),
        None => (source, None),
    };
    let path = call
        .rsplit_once(')')
        .and_then(|(_, behind)| behind.split_once('.'))
        .map(|(_, path)| path.trim().to_owned());
    Some(Slot {
        fun,
        args,
        kwargs,
        path,
        append,
    })
}

impl Slot {
    /// What the argument becomes when the function returned `value`.
    pub(super) fn fill(&self, value: Value) -> Value {
        let value = match &self.path {
            Some(path) => traverse(&value, path, ".").cloned().unwrap_or_default(),
            None => value,
        };
        match (&self.append, value) {
            (Some(append), Value::Str(text)) => Value::Str(text + append),
            (_, value) => value,
        }
    }
}

/// Every place of an argument where a slot may stand: the argument, the values
/// of a map, the items of a list, the values of maps in a list.
pub(super) fn places(value: &mut Value) -> Vec<&mut Value> {
    let is_slot = |value: &Value| value.as_str().is_some_and(|text| text.starts_with(MARK));
    let mut found = Vec::new();
    match value {
        Value::Map(map) => found.extend(map.iter_mut().map(|(_, value)| value)),
        Value::List(items) => {
            for item in items {
                match item {
                    Value::Map(map) => found.extend(map.iter_mut().map(|(_, value)| value)),
                    item => found.push(item),
                }
            }
        }
        value => found.push(value),
    }
    found.retain(|value| is_slot(value));
    found
}

/// Follows `path` through maps and lists; in a list a word looks into the maps
/// it holds.
pub(super) fn traverse<'v>(value: &'v Value, path: &str, delimiter: &str) -> Option<&'v Value> {
    path.split(delimiter).try_fold(value, |at, key| match at {
        Value::Map(map) => map.get(key).or_else(|| {
            let number: i64 = key.parse().ok()?;
            map.get_value(&number.into())
        }),
        Value::List(items) => match key.parse::<i64>() {
            Ok(index) => {
                let len = i64::try_from(items.len()).ok()?;
                let index = if index < 0 { index + len } else { index };
                items.get(usize::try_from(index).ok()?)
            }
            Err(_) => items.iter().find_map(|item| item.get(key)),
        },
        _ => None,
    })
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|text| text.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}

fn parse_call(source: &str) -> Option<(String, Vec<Value>, Map)> {
    let mut words = Words::new(source);
    let mut fun = String::new();
    loop {
        match words.next()? {
            Word::Mark('(') => break,
            word => word.push_to(&mut fun),
        }
    }
    if fun.is_empty() {
        return None;
    }
    let (mut args, mut kwargs) = (Vec::new(), Map::new());
    let mut brackets = Vec::new();
    let (mut key, mut text, mut any) = (None::<String>, String::new(), false);
    loop {
        let word = words.next()?;
        match word {
            Word::Mark(mark @ (',' | ')')) if brackets.is_empty() => {
                let value = Value::Str(std::mem::take(&mut text));
                match key.take() {
                    Some(key) => {
                        kwargs.insert(key, value);
                    }
                    None if any => args.push(value),
                    None => {}
                }
                any = false;
                if mark == ')' {
                    return Some((fun, args, kwargs));
                }
                continue;
            }
            Word::Mark('=') if brackets.is_empty() => {
                key = Some(std::mem::take(&mut text));
                any = false;
                continue;
            }
            Word::Mark(open @ ('[' | '{' | '(')) => brackets.push(match open {
                '[' => ']',
                '{' => '}',
                _ => ')',
            }),
            Word::Mark(close @ (']' | '}' | ')')) if brackets.pop() != Some(close) => return None,
            _ => {}
        }
        word.push_to(&mut text);
        any = true;
    }
}

enum Word {
    Text(String),
    Mark(char),
}

impl Word {
    fn push_to(&self, text: &mut String) {
        match self {
            Self::Text(word) => text.push_str(word),
            Self::Mark(mark) => text.push(*mark),
        }
    }
}

struct Words<'t> {
    chars: std::iter::Peekable<std::str::Chars<'t>>,
}

impl<'t> Words<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            chars: text.chars().peekable(),
        }
    }

    fn next(&mut self) -> Option<Word> {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
        let mut word = String::new();
        let mut begun = false;
        while let Some(&c) = self.chars.peek() {
            match c {
                '"' | '\'' => {
                    self.chars.next();
                    self.quoted(c, &mut word)?;
                }
                '\\' => {
                    self.chars.next();
                    word.push(self.chars.next()?);
                }
                c if c.is_alphanumeric() || c == '_' => {
                    self.chars.next();
                    word.push(c);
                }
                c if begun || c.is_whitespace() => break,
                c => {
                    self.chars.next();
                    return Some(Word::Mark(c));
                }
            }
            begun = true;
        }
        begun.then_some(Word::Text(word))
    }

    fn quoted(&mut self, quote: char, word: &mut String) -> Option<()> {
        loop {
            match self.chars.next()? {
                c if c == quote => return Some(()),
                '\\' => {
                    let escaped = self.chars.next()?;
                    if escaped != quote && escaped != '\\' {
                        word.push('\\');
                    }
                    word.push(escaped);
                }
                c => word.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_a_call_with_a_way_into_its_result() {
        let slot = read("__slot__:salt:test.arg(\"a b\", c, kw='x').kwargs.kw ~ /there").unwrap();
        assert_eq!(slot.fun, "test.arg");
        assert_eq!(slot.args, ["a b".into(), "c".into()]);
        assert_eq!(slot.kwargs, Map::from([("kw", "x")]));
        let returned = Map::from([("kwargs", Map::from([("kw", "x")]))]);
        assert_eq!(slot.fill(returned.into()), "x/there".into());
    }

    #[test]
    fn brackets_belong_to_the_argument() {
        let slot = read("__slot__:salt:test.echo([1, 2])").unwrap();
        assert_eq!(slot.args, ["[1,2]".into()]);
        assert_eq!(slot.fill("as it is".into()), "as it is".into());
        let quoted = read("__slot__:salt:test.echo(')') ~ \" x\"").unwrap();
        assert_eq!(quoted.args, [")".into()]);
        assert_eq!(quoted.fill("a".into()), "a x".into());
    }

    #[test]
    fn nonsense_is_no_slot() {
        for text in [
            "__slot__:salt:test.echo(",
            "__slot__:salt:",
            "__slot__:http:x()",
            "__slot__:salt:test.echo(])",
            "__slot__:salt:test.echo('open)",
            "plain",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn slots_stand_in_first_and_second_places() {
        let slot = || Value::from("__slot__:salt:a.b()");
        let mut value = Value::List(vec![slot(), Map::from([("k", slot())]).into(), 1.into()]);
        assert_eq!(places(&mut value).len(), 2);
        let mut deep = Value::from(Map::from([("k", Value::List(vec![slot()]))]));
        assert_eq!(places(&mut deep).len(), 0);
    }
}
