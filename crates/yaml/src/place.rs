//! Where something stands in a file, for people.
//!
//! Invariant: lines and columns count from 1, columns in characters.

use std::fmt;

use crate::error::{ErrorKind, YamlError};
use crate::limits::EXCERPT_CHARS_MAX;

/// The place of the first character of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Span {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place behind `c`, which stands here.
    pub(crate) fn after(self, c: char) -> Self {
        if c == '\n' {
            Self {
                line: self.line + 1,
                column: 1,
            }
        } else {
            Self {
                column: self.column + 1,
                ..self
            }
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A place with the name of its file and the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name as it was given.
    pub file: String,
    /// Line and column.
    pub span: Span,
    /// The line, as it stands in the file.
    pub line: String,
}

impl Place {
    /// The place `span` of the file `name` with the content `text`.
    pub fn new(name: &str, text: &str, span: Span) -> Self {
        let index = usize::try_from(span.line.saturating_sub(1)).unwrap_or(usize::MAX);
        Self {
            file: name.to_owned(),
            span,
            line: text.lines().nth(index).unwrap_or_default().to_owned(),
        }
    }

    /// The line with a caret under the column, each indented by two blanks.
    /// A long line is shown in part. Empty if the line is.
    pub fn excerpt(&self) -> String {
        let column = usize::try_from(self.span.column.saturating_sub(1)).unwrap_or(0);
        let skip = if column < EXCERPT_CHARS_MAX {
            0
        } else {
            column - EXCERPT_CHARS_MAX / 2
        };
        let shown: String = self
            .line
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .skip(skip)
            .take(EXCERPT_CHARS_MAX)
            .collect();
        if shown.trim().is_empty() {
            return String::new();
        }
        let shown = shown.trim_end();
        format!("  {shown}\n  {}^", " ".repeat(column - skip))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.span)
    }
}

/// A text and its name while it is being read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) name: &'t str,
    pub(crate) text: &'t str,
}

impl Source<'_> {
    pub(crate) fn error(
        self,
        kind: ErrorKind,
        span: Span,
        problem: impl Into<String>,
    ) -> YamlError {
        YamlError {
            kind,
            place: Place::new(self.name, self.text, span),
            problem: problem.into(),
            context: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_its_column() {
        let place = Place::new("f", "a: 1\n\tb: ž x\n", Span { line: 2, column: 7 });
        assert_eq!(place.to_string(), "f:2:7");
        assert_eq!(place.excerpt(), "   b: ž x\n        ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let place = Place::new(
            "f",
            &line,
            Span {
                line: 1,
                column: 501,
            },
        );
        let excerpt = place.excerpt();
        let (shown, caret) = excerpt.split_once('\n').unwrap();
        assert_eq!(shown.find('X'), caret.find('^'));
        assert!(shown.len() <= EXCERPT_CHARS_MAX + 2);
    }

    #[test]
    fn a_place_behind_the_end_has_no_excerpt() {
        let place = Place::new("f", "a\n", Span { line: 9, column: 1 });
        assert_eq!(place.excerpt(), "");
    }
}
