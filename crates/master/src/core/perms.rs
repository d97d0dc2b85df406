//! What an entry of `publisher_acl`, `external_auth` or `peer` permits.
//!
//! Invariant: an entry that cannot be parsed permits nothing.

use std::sync::Arc;

use halite_call::args::Parted;
use halite_proto::{Map, Value};

use super::patterns::StartPattern;
use super::text::python_text;

/// One function of a job with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The function.
    pub fun: &'a str,
    /// Its arguments, as who runs it parts them; `None` where that is not
    /// certain: then no condition on arguments holds.
    pub args: Option<&'a Parted>,
}

/// An entry, read once.
#[derive(Clone, Debug)]
pub struct Perm(Arc<Read>);

#[derive(Debug)]
struct Read {
    given: Value,
    rule: Rule,
}

/// What an entry says.
#[derive(Debug)]
pub enum Rule {
    /// A text: functions anywhere, or a name behind an `@`.
    Text(String, StartPattern),
    /// Functions of one place: of a target, or of a name behind an `@`.
    At(String, Funs),
    /// Nothing.
    Nothing,
}

/// The functions that are listed at a place.
#[derive(Debug)]
pub enum Funs {
    /// Those that a pattern matches.
    Named(StartPattern),
    /// Those of a list.
    Any(Vec<Self>),
    /// Those that a pattern matches, where the arguments fit too.
    Where(StartPattern, Condition),
    /// None.
    Nothing,
}

/// What arguments must be.
#[derive(Debug)]
pub enum Condition {
    /// What fits one of these.
    Any(Vec<Self>),
    /// Each of these by its position or name.
    Each {
        /// By position.
        args: Vec<Argument>,
        /// By name.
        kwargs: Vec<(String, Argument)>,
    },
    /// Nothing fits.
    Never,
}

/// What one argument must be.
#[derive(Debug)]
pub enum Argument {
    /// Anything, if it is there.
    Any,
    /// What begins so.
    Text(StartPattern),
    /// Nothing fits.
    Never,
}

impl Perm {
    /// Reads an entry.
    pub fn new(given: &Value) -> Self {
        let rule = match given {
            Value::Str(text) => Rule::Text(text.clone(), StartPattern::new(text)),
            Value::Map(map) if map.len() == 1 => match map.iter().next() {
                Some((Value::Str(place), funs)) => Rule::At(place.clone(), Funs::new(funs)),
                _ => Rule::Nothing,
            },
            _ => Rule::Nothing,
        };
        let given = given.clone();
        Self(Arc::new(Read { given, rule }))
    }

    /// Reads the entries of a list; a single one need not stand in a list.
    pub fn list(given: &Value) -> Vec<Self> {
        match given {
            Value::List(perms) => perms.iter().map(Self::new).collect(),
            Value::Nil => Vec::new(),
            one => vec![Self::new(one)],
        }
    }

    /// As it was given.
    pub fn given(&self) -> &Value {
        &self.0.given
    }

    /// Its rule.
    pub fn rule(&self) -> &Rule {
        &self.0.rule
    }
}

/// Equality of the entries as given.
impl PartialEq for Perm {
    fn eq(&self, other: &Self) -> bool {
        self.0.given == other.0.given
    }
}

impl Eq for Perm {}

impl Funs {
    fn new(given: &Value) -> Self {
        match given {
            Value::List(funs) => Self::Any(funs.iter().map(Self::one).collect()),
            one => Self::one(one),
        }
    }

    /// Reads a value that is not a list. A map must have one function: with two it would
    /// not be certain that both were meant to be permitted.
    fn one(given: &Value) -> Self {
        match given {
            Value::Str(pattern) => Self::Named(StartPattern::new(pattern)),
            Value::Map(conditions) if conditions.len() == 1 => match conditions.iter().next() {
                Some((Value::Str(pattern), condition)) => {
                    Self::Where(StartPattern::new(pattern), Condition::new(condition))
                }
                _ => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }

    /// Whether the function is listed.
    pub fn list(&self, asked: Asked<'_>) -> bool {
        match self {
            Self::Named(pattern) => pattern.matches(asked.fun),
            Self::Any(funs) => funs.iter().any(|funs| funs.list(asked)),
            Self::Where(pattern, condition) => {
                pattern.matches(asked.fun) && condition.holds(asked.args)
            }
            Self::Nothing => false,
        }
    }
}

impl Condition {
    fn new(given: &Value) -> Self {
        match given {
            Value::List(choices) => Self::Any(choices.iter().map(Self::one).collect()),
            one => Self::one(one),
        }
    }

    fn one(given: &Value) -> Self {
        let condition = given.as_map().and_then(Self::each);
        condition.unwrap_or(Self::Never)
    }

    fn each(given: &Map) -> Option<Self> {
        let args = match given.get("args") {
            None => Vec::new(),
            Some(Value::List(args)) => args.iter().map(Argument::new).collect(),
            Some(_) => return None,
        };
        let kwargs = match given.get("kwargs") {
            None => Vec::new(),
            Some(Value::Map(kwargs)) => kwargs
                .iter()
                .map(|(name, arg)| Some((name.as_str()?.to_owned(), Argument::new(arg))))
                .collect::<Option<_>>()?,
            Some(_) => return None,
        };
        Some(Self::Each { args, kwargs })
    }

    fn holds(&self, given: Option<&Parted>) -> bool {
        match self {
            Self::Any(choices) => choices.iter().any(|choice| choice.holds(given)),
            Self::Each { args, kwargs } => {
                let Some(Parted { positional, named }) = given else {
                    return false;
                };
                let args_fit = args
                    .iter()
                    .enumerate()
                    .all(|(n, arg)| positional.get(n).is_some_and(|given| arg.fits(given)));
                let keyword = |wanted: &str| {
                    let found = named.iter().find(|(name, _)| name.as_str() == Some(wanted));
                    found.map(|(_, value)| value)
                };
                args_fit
                    && kwargs
                        .iter()
                        .all(|(name, arg)| keyword(name).is_some_and(|given| arg.fits(given)))
            }
            Self::Never => false,
        }
    }
}

impl Argument {
    fn new(given: &Value) -> Self {
        match given {
            Value::Nil => Self::Any,
            other => python_text(other).map_or(Self::Never, |pattern| {
                Self::Text(StartPattern::new(&pattern))
            }),
        }
    }

    fn fits(&self, given: &Value) -> bool {
        match self {
            Self::Any => true,
            // A list or a map has no text that a pattern could judge safely.
            Self::Text(pattern) => python_text(given).is_some_and(|given| pattern.matches(&given)),
            Self::Never => false,
        }
    }
}
