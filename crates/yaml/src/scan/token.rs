//! The tokens of YAML and the errors of finding them.

use super::cursor::Mark;
use crate::error::{ErrorKind, YamlError};
use crate::place::Source;

/// A token and where it stands.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

/// The kinds of token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    StreamEnd,
    /// `%YAML 1.1`.
    Version {
        major: u32,
        minor: u32,
    },
    /// `%TAG ! tag:example.com,2026:`.
    TagDirective(Box<TagParts>),
    DocumentStart,
    DocumentEnd,
    BlockListStart,
    BlockMapStart,
    BlockEnd,
    FlowListStart,
    FlowListEnd,
    FlowMapStart,
    FlowMapEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag(Box<TagParts>),
    Scalar {
        text: String,
        plain: bool,
    },
}

/// A tag, `!handle!suffix`, or what a handle stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TagParts {
    pub(crate) handle: String,
    pub(crate) rest: String,
}

/// Why the text is not read on, before the file is known.
#[derive(Debug)]
pub(crate) struct Fault(Box<Parts>);

/// What a fault is; apart, since every token could be one instead.
#[derive(Debug)]
struct Parts {
    kind: ErrorKind,
    problem: String,
    mark: Mark,
    context: Option<(&'static str, Mark)>,
}

impl Fault {
    fn new(kind: ErrorKind, problem: String, mark: Mark) -> Self {
        Self(Box::new(Parts {
            kind,
            problem,
            mark,
            context: None,
        }))
    }

    /// A token that is not there, found at `mark`.
    pub(crate) fn scanner(problem: &'static str, mark: Mark) -> Self {
        Self::new(ErrorKind::Scanner, problem.to_owned(), mark)
    }

    /// Tokens in a wrong order, found at `mark`.
    pub(crate) fn parser(problem: &'static str, mark: Mark) -> Self {
        Self::new(ErrorKind::Parser, problem.to_owned(), mark)
    }

    /// More than a limit allows, found at `mark`.
    pub(crate) fn limit(problem: String, mark: Mark) -> Self {
        Self::new(ErrorKind::Limit, problem, mark)
    }

    /// The same, while reading what started at `mark`.
    #[must_use]
    pub(crate) fn while_reading(mut self, context: &'static str, mark: Mark) -> Self {
        self.0.context = Some((context, mark));
        self
    }

    /// The error for people.
    pub(crate) fn in_source(self, source: Source<'_>) -> Box<YamlError> {
        let Parts {
            kind,
            problem,
            mark,
            context,
        } = *self.0;
        let error = Box::new(source.error(kind, mark.span(), problem));
        match context {
            Some((context, mark)) => error.while_reading(context, mark.span()),
            None => error,
        }
    }
}
