//! Errors of reading YAML.

use std::fmt::Write;

use thiserror::Error;

use crate::place::{SourceLocation, Span};

/// Which step refused the text. Salt tells them apart in what it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A character that YAML does not allow.
    Reader,
    /// Characters that make no token.
    Scanner,
    /// Tokens that make no document.
    Parser,
    /// Anchors and aliases, or more than one document.
    Composer,
    /// Values, keys and tags.
    Constructor,
    /// A limit of this crate.
    Limit,
}

/// A text that is not read, with the place that is to blame. Prints as
/// `file:line:column: problem`; [`YamlError::render`] adds the line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct YamlError {
    /// Which step refused the text.
    pub kind: ErrorKind,
    /// The place, with its line.
    pub place: SourceLocation,
    /// What is wrong, in libyaml's or PyYAML's words where they have some.
    pub problem: String,
    /// What was being read, such as `while parsing a block mapping`, and
    /// where it started.
    pub context: Option<(String, Span)>,
}

impl YamlError {
    /// The error with its context, the line and a caret under the column.
    pub fn render(&self) -> String {
        let mut out = self.to_string();
        if let Some((context, span)) = &self.context {
            let _ = write!(out, " ({context} from line {})", span.line);
        }
        let excerpt = self.place.excerpt();
        if !excerpt.is_empty() {
            let _ = write!(out, "\n{excerpt}");
        }
        out
    }

    /// The text that Python prints for this error, which Salt puts into the
    /// results of states.
    pub fn python_text(&self) -> String {
        let place = |span: Span| {
            format!(
                "  in \"<unicode string>\", line {}, column {}",
                span.line, span.column
            )
        };
        let mut lines = Vec::new();
        if let Some((context, span)) = &self.context {
            lines.push(context.clone());
            if *span != self.place.span {
                lines.push(place(*span));
            }
        }
        lines.push(self.problem.clone());
        lines.push(place(self.place.span));
        lines.join("\n")
    }

    #[must_use]
    pub(crate) fn while_reading(mut self: Box<Self>, context: &str, span: Span) -> Box<Self> {
        self.context = Some((context.to_owned(), span));
        self
    }
}
