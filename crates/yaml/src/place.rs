//! A place in a file, for people.
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
pub struct SourceLocation {
    /// The file's name as it was given.
    pub file: String,
    /// Line and column.
    pub span: Span,
    /// The line, as it stands in the file; at its end the last line with text.
    pub line: Box<str>,
    /// Whether the file has no text here nor behind it: the fault is that it
    /// ends.
    pub is_end: bool,
}

impl SourceLocation {
    /// The place `span` of the file `name` with the content `text`.
    pub fn new(name: &str, text: &str, span: Span) -> Self {
        let index = usize::try_from(span.line.saturating_sub(1)).unwrap_or(usize::MAX);
        let has_text = |line: &&str| !line.trim().is_empty();
        let is_behind = !text.lines().skip(index).any(|line| has_text(&line));
        let last = text.lines().take(index).filter(has_text).last();
        let last = last.filter(|_| is_behind);
        Self {
            file: name.to_owned(),
            span,
            line: last
                .or_else(|| text.lines().nth(index))
                .unwrap_or_default()
                .into(),
            is_end: last.is_some(),
        }
    }

    /// The line with a caret under the column, each indented by two blanks.
    /// A long line is shown in part. At the end of a file it is the last line,
    /// with the caret behind it. Empty if the line is.
    pub fn excerpt(&self) -> String {
        let column = if self.is_end {
            self.line.trim_end().chars().count()
        } else {
            usize::try_from(self.span.column.saturating_sub(1)).unwrap_or(0)
        };
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

impl fmt::Display for SourceLocation {
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
            place: SourceLocation::new(self.name, self.text, span),
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
        let place = SourceLocation::new("f", "a: 1\n\tb: ž x\n", Span { line: 2, column: 7 });
        assert_eq!(place.to_string(), "f:2:7");
        assert_eq!(place.excerpt(), "   b: ž x\n        ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_column() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let place = SourceLocation::new(
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
    fn at_the_end_of_a_file_its_last_line_is_shown() {
        let span = Span { line: 4, column: 1 };
        let place = SourceLocation::new("f", "a:\n  b: [c, d  \n\n", span);
        assert_eq!(place.to_string(), "f:4:1");
        assert_eq!(place.excerpt(), "    b: [c, d\n            ^");
        assert_eq!(SourceLocation::new("f", "\n", span).excerpt(), "");
        let blank = SourceLocation::new("f", "a\n\nb\n", Span { line: 2, column: 1 });
        assert_eq!(blank.excerpt(), "");
    }
}
