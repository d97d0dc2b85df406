//! Grain and pillar targets: `os:Debian`, `roles:web*`, `a:b:c`.
//!
//! The text is a path and a pattern, and nothing marks where one ends and the other
//! starts: every split is tried, the longest path first. Case is ignored. Lists
//! match if an item does, maps also by key.
//!
//! Invariant: a lookup takes at most [`LOOKUP_STEPS_MAX`] steps, however the data
//! is nested.

use std::cell::Cell;

use halite_proto::{Map, Value, python};

use crate::limits::{LEVELS_MAX, LOOKUP_STEP_BYTES, LOOKUP_STEPS_MAX, LOOKUP_TEXT_BYTES_MAX};
use crate::pcre::Pcre;
use crate::{TargetError, glob};

/// What is behind the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A shell pattern.
    Glob,
    /// A regular expression, matched from the start.
    Pcre,
    /// The text itself.
    Exact,
}

/// A target over the data of a minion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTarget {
    text: String,
    delimiter: String,
    pattern: Pattern,
    /// For regular expressions: each end of the text that could be the
    /// pattern, by length, compiled.
    compiled: Vec<(usize, Pcre)>,
}

/// The delimiter inside a value, whatever the one of the target is.
const INNER: &str = ":";

impl DataTarget {
    /// Reads a target whose parts are separated by `delimiter`.
    ///
    /// # Errors
    /// When there is no delimiter in it, when it has too many parts, or when
    /// no part of it is a regular expression that compiles.
    pub fn parse(text: &str, delimiter: &str, pattern: Pattern) -> Result<Self, TargetError> {
        if delimiter.is_empty() {
            return Err(TargetError::new(0, "the delimiter is empty"));
        }
        let parts = text.split(delimiter).count();
        if parts < 2 {
            let message = format!("there is no {delimiter:?} between a name and a pattern");
            return Err(TargetError::new(text.len(), message));
        }
        if parts > LEVELS_MAX {
            let message = format!("a target has at most {LEVELS_MAX} levels");
            return Err(TargetError::new(0, message));
        }
        let mut target = Self {
            text: text.to_owned(),
            delimiter: delimiter.to_owned(),
            pattern,
            compiled: Vec::new(),
        };
        if pattern == Pattern::Pcre {
            target.compile()?;
        }
        Ok(target)
    }

    /// Whether `data` has what the target says.
    pub fn matches(&self, data: &Map) -> bool {
        let steps = Cell::new(0);
        let search = Search {
            target: self,
            steps: &steps,
        };
        search.in_map(data, &self.text, &self.delimiter)
    }

    /// The name at the top of the data that it begins with.
    pub(crate) fn first_name(&self) -> &str {
        let mut parts = self.text.split(self.delimiter.as_str());
        parts.next().unwrap_or_default()
    }

    /// The target as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How many regular expressions it may be matched with.
    pub(crate) fn regexes(&self) -> usize {
        self.compiled.len()
    }

    fn compile(&mut self) -> Result<(), TargetError> {
        let mut starts: Vec<usize> = [self.delimiter.as_str(), INNER]
            .iter()
            .flat_map(|delimiter| {
                let ends = self.text.match_indices(*delimiter);
                ends.map(|(at, found)| at + found.len())
            })
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let mut first_error = None;
        for start in starts.iter().take(LEVELS_MAX) {
            let Some(end) = self.text.get(*start..) else {
                continue;
            };
            match Pcre::new(&end.to_lowercase()) {
                Ok(pcre) => self.compiled.push((end.len(), pcre)),
                Err(error) => first_error = first_error.or_else(|| Some(error.shifted(*start))),
            }
        }
        match first_error {
            Some(error) if self.compiled.is_empty() => Err(error),
            _ => Ok(()),
        }
    }
}

struct Search<'a> {
    target: &'a DataTarget,
    steps: &'a Cell<usize>,
}

impl Search<'_> {
    /// Counts a step; whether there are any left.
    fn step(&self) -> bool {
        self.steps_of(1)
    }

    fn steps_of(&self, count: usize) -> bool {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps);
        steps <= LOOKUP_STEPS_MAX
    }

    /// Tries every split of `expression`, the longest path first.
    fn in_map(&self, data: &Map, expression: &str, delimiter: &str) -> bool {
        let splits: Vec<usize> = expression
            .match_indices(delimiter)
            .map(|(at, _)| at)
            .take(LEVELS_MAX)
            .collect();
        splits.iter().rev().any(|at| {
            let path = expression.get(..*at).unwrap_or_default();
            if path == "*" {
                return self.in_map_entries(data, expression);
            }
            let pattern = expression.get(at + delimiter.len()..).unwrap_or_default();
            match traverse(data, path, delimiter) {
                Some(found) => self.in_value(found, pattern),
                None => false,
            }
        })
    }

    fn in_value(&self, found: &Value, pattern: &str) -> bool {
        match found {
            Value::Map(map) if map.is_empty() => false,
            Value::Map(map) => self.in_map_entries(map, pattern),
            Value::List(items) => items.iter().any(|item| {
                let inside = item
                    .as_map()
                    .is_some_and(|map| self.in_map_entries(map, pattern));
                inside || self.is(item, pattern)
            }),
            other => self.is(other, pattern),
        }
    }

    /// Whether the pattern is a key of `map`, matches one, or goes on below
    /// it. A leading `*:` also tries the values.
    fn in_map_entries(&self, map: &Map, pattern: &str) -> bool {
        if !self.step() {
            return false;
        }
        let (pattern, wildcard) = match pattern.strip_prefix("*:") {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        if pattern == "*" || map.contains_key(pattern) {
            return true;
        }
        if map.keys().any(|key| self.is(key, pattern)) || self.in_map(map, pattern, INNER) {
            return true;
        }
        wildcard
            && map.values().any(|value| match value {
                Value::Map(map) => self.in_map_entries(map, pattern),
                Value::List(items) => items.iter().any(|item| self.is(item, pattern)),
                other => self.is(other, pattern),
            })
    }

    /// Whether the text of `value` matches.
    fn is(&self, value: &Value, pattern: &str) -> bool {
        if !self.step() {
            return false;
        }
        let text = python::str(value).to_lowercase();
        if text.len() > LOOKUP_TEXT_BYTES_MAX || !self.steps_of(text.len() / LOOKUP_STEP_BYTES) {
            return false;
        }
        match self.target.pattern {
            Pattern::Exact => text == pattern.to_lowercase(),
            Pattern::Glob => glob::fnmatch(&pattern.to_lowercase(), &text),
            Pattern::Pcre => self
                .target
                .compiled
                .iter()
                .find(|(length, _)| *length == pattern.len())
                .is_some_and(|(_, pcre)| pcre.matches_start(&text).unwrap_or(false)),
        }
    }
}

/// The value at the end of `path`: through maps by key and through lists by
/// number, or by key into the maps they hold.
pub fn traverse<'d>(data: &'d Map, path: &str, delimiter: &str) -> Option<&'d Value> {
    let mut parts = path.split(delimiter);
    let mut found = in_map(data, parts.next()?)?;
    for part in parts {
        found = match found {
            Value::Map(map) => in_map(map, part)?,
            Value::List(items) => in_list(items, part)?,
            _ => return None,
        };
    }
    Some(found)
}

/// By the text, or by the number or truth that YAML makes of it.
fn in_map<'d>(map: &'d Map, key: &str) -> Option<&'d Value> {
    map.get(key).or_else(|| match key {
        "true" | "True" | "yes" | "on" => by_number(map, 1.0),
        "false" | "False" | "no" | "off" => by_number(map, 0.0),
        _ if key.bytes().any(|byte| byte.is_ascii_digit()) => by_number(map, key.parse().ok()?),
        _ => None,
    })
}

/// The value under a number: to Python `1`, `1.0` and `True` are one key.
fn by_number(map: &Map, number: f64) -> Option<&Value> {
    #[expect(clippy::cast_possible_truncation, reason = "compared with what it was")]
    let int = number as i64;
    #[expect(
        clippy::cast_precision_loss,
        reason = "only whole numbers are asked for"
    )]
    let whole = (int as f64 == number).then_some(int);
    map.get_value(&Value::Float(number)).or_else(|| {
        let int = whole?;
        let truth = match int {
            0 => map.get_value(&Value::Bool(false)),
            1 => map.get_value(&Value::Bool(true)),
            _ => None,
        };
        truth.or_else(|| map.get_value(&Value::from(int)))
    })
}

fn in_list<'d>(items: &'d [Value], part: &str) -> Option<&'d Value> {
    let mut maps = items.iter().filter_map(Value::as_map);
    let Ok(number) = part.trim().parse::<i64>() else {
        return maps.find_map(|map| map.get(part));
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "keys of maps in lists are small numbers"
    )]
    if let Some(found) = maps.find_map(|map| by_number(map, number as f64)) {
        return Some(found);
    }
    let index = match usize::try_from(number) {
        Ok(index) => index,
        Err(_) => items
            .len()
            .checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
    };
    items.get(index)
}
