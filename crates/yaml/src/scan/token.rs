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
    TagDirective {
        handle: String,
        prefix: String,
    },
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
    Tag {
        handle: String,
        suffix: String,
    },
    Scalar {
        text: String,
        plain: bool,
    },
}

/// Why the text is not read on, before the file is known.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) problem: String,
    pub(crate) mark: Mark,
    pub(crate) context: Option<(&'static str, Mark)>,
}

impl Fault {
    /// A token that is not there, found at `mark`.
    pub(crate) fn scanner(problem: &'static str, mark: Mark) -> Self {
        Self {
            kind: ErrorKind::Scanner,
            problem: problem.to_owned(),
            mark,
            context: None,
        }
    }

    /// Tokens in a wrong order, found at `mark`.
    pub(crate) fn parser(problem: &'static str, mark: Mark) -> Self {
        Self {
            kind: ErrorKind::Parser,
            ..Self::scanner(problem, mark)
        }
    }

    /// The same, while reading what started at `mark`.
    #[must_use]
    pub(crate) fn while_reading(mut self, context: &'static str, mark: Mark) -> Self {
        self.context = Some((context, mark));
        self
    }

    /// The error for people.
    pub(crate) fn in_source(self, source: Source<'_>) -> YamlError {
        let error = source.error(self.kind, self.mark.span(), self.problem);
        match self.context {
            Some((context, mark)) => error.while_reading(context, mark.span()),
            None => error,
        }
    }
}
