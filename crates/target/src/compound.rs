//! Compound targets: `G@os:Debian and not ( web1 or L@web2,web3 )`.
//!
//! Blanks separate the words, and also the parentheses. `not` binds tighter than
//! `and`, `and` tighter than `or`.

use halite_proto::Value;

use crate::limits::{EXPRESSION_BYTES_MAX, NESTING_MAX, REGEXES_MAX, WORDS_MAX};
use crate::target::{Reading, Target};
use crate::{TargetError, nodegroup};

/// A compound target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    One(Box<Target>),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl Expression {
    /// The truth of the expression, given that of its targets.
    pub(crate) fn holds(&self, truth: &mut dyn FnMut(&Target) -> bool) -> bool {
        match self {
            Self::One(target) => truth(target),
            Self::Not(inner) => !inner.holds(truth),
            Self::All(parts) => parts.iter().all(|part| part.holds(truth)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(truth)),
        }
    }

    /// Shows every target, and whether it is directly behind `not`.
    pub(crate) fn visit<'e>(&'e self, show: &mut dyn FnMut(&'e Target, bool)) {
        match self {
            Self::One(target) => show(target, false),
            Self::Not(inner) => match &**inner {
                Self::One(target) => show(target, true),
                other => other.visit(show),
            },
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.visit(show);
                }
            }
        }
    }
}

/// A word and the byte where it starts.
struct Word {
    text: String,
    at: usize,
}

/// Reads a compound target, which is text or a list of words.
pub(crate) fn parse(
    tgt: &Value,
    reading: &Reading<'_>,
    exact_pillar: bool,
) -> Result<Expression, TargetError> {
    let mut parser = Parser {
        words: words(tgt)?,
        next: 0,
        depth: 0,
        regexes: 0,
        reading,
        exact_pillar,
    };
    parser.expand_groups()?;
    let expression = parser.any()?;
    match parser.words.get(parser.next) {
        None => Ok(expression),
        Some(word) if word.text == ")" => Err(TargetError::new(word.at, "unmatched `)`")),
        Some(word) => {
            let message = format!("there is no `and` or `or` before `{}`", word.text);
            Err(TargetError::new(word.at, message))
        }
    }
}

fn words(tgt: &Value) -> Result<Vec<Word>, TargetError> {
    let mut words = Vec::new();
    match tgt {
        Value::Str(text) if text.len() > EXPRESSION_BYTES_MAX => {
            let message = format!("a target has at most {EXPRESSION_BYTES_MAX} bytes");
            return Err(TargetError::new(0, message));
        }
        Value::Str(text) => {
            for word in text.split_whitespace() {
                let at = word.as_ptr() as usize - text.as_ptr() as usize;
                let text = word.to_owned();
                words.push(Word { text, at });
            }
        }
        Value::List(items) => {
            let mut at = 0;
            for item in items {
                let Some(text) = item.as_str().map(str::to_owned) else {
                    let found = item.type_name();
                    let message = format!("a word of a compound target is text, not a {found}");
                    return Err(TargetError::new(at, message));
                };
                let length = text.len();
                words.push(Word { text, at });
                at += length + 1;
            }
        }
        other => {
            let found = other.type_name();
            let message = format!("a compound target is text or a list, not a {found}");
            return Err(TargetError::new(0, message));
        }
    }
    if words.len() > WORDS_MAX {
        let message = format!("a compound target has at most {WORDS_MAX} words");
        return Err(TargetError::new(0, message));
    }
    Ok(words)
}

struct Parser<'r> {
    words: Vec<Word>,
    next: usize,
    depth: usize,
    regexes: usize,
    reading: &'r Reading<'r>,
    exact_pillar: bool,
}

impl Parser<'_> {
    fn expand_groups(&mut self) -> Result<(), TargetError> {
        if !self.words.iter().any(|word| word.text.starts_with("N@")) {
            return Ok(());
        }
        let none = halite_proto::Map::new();
        let groups = self.reading.nodegroups.unwrap_or(&none);
        let mut out = Vec::with_capacity(self.words.len());
        for word in std::mem::take(&mut self.words) {
            match word.text.strip_prefix("N@") {
                Some(name) if !name.is_empty() => {
                    let expanded = nodegroup::expand_together(name, groups)
                        .map_err(|error| error.shifted(word.at + 2))?;
                    let at = word.at;
                    out.extend(expanded.into_iter().map(|text| Word { text, at }));
                }
                _ => out.push(word),
            }
        }
        if out.len() > WORDS_MAX {
            let message = format!("a compound target has at most {WORDS_MAX} words");
            return Err(TargetError::new(0, message));
        }
        self.words = out;
        Ok(())
    }

    fn peek(&self) -> Option<&str> {
        self.words.get(self.next).map(|word| word.text.as_str())
    }

    /// The place of the next word, or the end.
    fn at(&self) -> usize {
        let end = || {
            self.words
                .last()
                .map_or(0, |word| word.at + word.text.len())
        };
        self.words.get(self.next).map_or_else(end, |word| word.at)
    }

    fn any(&mut self) -> Result<Expression, TargetError> {
        let mut parts = vec![self.all()?];
        while self.peek() == Some("or") {
            self.next += 1;
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, TargetError> {
        let mut parts = vec![self.operand()?];
        loop {
            match self.peek() {
                Some("and") => self.next += 1,
                // Between two targets `not` means `and not`.
                Some("not") => {}
                _ => return Ok(one_or(parts, Expression::All)),
            }
            parts.push(self.operand()?);
        }
    }

    fn operand(&mut self) -> Result<Expression, TargetError> {
        if self.peek() != Some("not") {
            return self.single();
        }
        self.next += 1;
        if self.peek() == Some("not") {
            return Err(TargetError::new(self.at(), "`not` twice in a row"));
        }
        Ok(Expression::Not(Box::new(self.single()?)))
    }

    fn single(&mut self) -> Result<Expression, TargetError> {
        let at = self.at();
        match self.peek() {
            None => {
                let message = if self.words.is_empty() {
                    "the target is empty"
                } else {
                    "the target ends where another one is expected"
                };
                Err(TargetError::new(at, message))
            }
            Some("(") => {
                self.depth += 1;
                if self.depth > NESTING_MAX {
                    let message = format!("parentheses are nested more than {NESTING_MAX} deep");
                    return Err(TargetError::new(at, message));
                }
                self.next += 1;
                let inner = self.any()?;
                self.depth -= 1;
                match self.peek() {
                    Some(")") => self.next += 1,
                    None => return Err(TargetError::new(at, "this `(` is never closed")),
                    Some(word) => {
                        let message = format!("there is no `and` or `or` before `{word}`");
                        return Err(TargetError::new(self.at(), message));
                    }
                }
                Ok(inner)
            }
            Some(word @ ("and" | "or" | ")")) => {
                let message = format!("`{word}` where a target is expected");
                Err(TargetError::new(at, message))
            }
            Some(word) => {
                let target = target(word, self.reading, self.exact_pillar)
                    .map_err(|error| error.shifted(at))?;
                self.regexes += target.regexes();
                if self.regexes > REGEXES_MAX {
                    let message = format!("a target has at most {REGEXES_MAX} regular expressions");
                    return Err(TargetError::new(at, message));
                }
                self.next += 1;
                Ok(Expression::One(Box::new(target)))
            }
        }
    }
}

fn one_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        Some(part) => {
            parts.push(part);
            many(parts)
        }
        None => many(parts),
    }
}

/// The target of one word: `X@pattern`, with a delimiter in front of the `@`
/// for grains and pillar, or a glob.
fn target(word: &str, reading: &Reading<'_>, exact: bool) -> Result<Target, TargetError> {
    let Some((engine, delimiter, at)) = engine(word) else {
        return Target::parse(&Value::from(word), "glob", reading.delimiter);
    };
    let pattern = word.get(at..).unwrap_or_default();
    let tgt_type = match engine {
        'G' => "grain",
        'P' => "grain_pcre",
        'I' | 'J' if exact => "pillar_exact",
        'I' => "pillar",
        'J' => "pillar_pcre",
        'L' => "list",
        'S' => "ipcidr",
        'E' => "pcre",
        'R' => "range",
        other => {
            let message = format!("targets of the kind `{other}@` are not supported");
            return Err(TargetError::new(0, message));
        }
    };
    let reading = Reading {
        delimiter: delimiter.unwrap_or(crate::DEFAULT_DELIMITER),
        ..*reading
    };
    let target = Target::parse_with(&Value::from(pattern), tgt_type, &reading);
    target.map_err(|error| error.shifted(at))
}

/// The kind of a word, its delimiter and where its pattern starts; none for a
/// glob.
fn engine(word: &str) -> Option<(char, Option<&str>, usize)> {
    let kind = word.chars().next().filter(|c| "GPIJLNSERTM".contains(*c))?;
    let rest = word.get(1..)?;
    if matches!(kind, 'G' | 'P' | 'I' | 'J')
        && let Some(c) = rest.chars().next()
        && let Some(pattern) = rest
            .get(c.len_utf8()..)
            .and_then(|rest| rest.strip_prefix('@'))
        && !pattern.is_empty()
    {
        return Some((kind, rest.get(..c.len_utf8()), word.len() - pattern.len()));
    }
    let pattern = rest
        .strip_prefix('@')
        .filter(|pattern| !pattern.is_empty())?;
    Some((kind, None, word.len() - pattern.len()))
}
