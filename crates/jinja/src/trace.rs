//! From a rendered text back to its template.

use std::sync::Arc;

use crate::source::{Source, Span};

/// What is written from here on came from a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The byte of the text that is written.
    pub(crate) out: usize,
    /// The statement.
    pub(crate) span: Span,
    /// It is text of the template itself.
    pub(crate) literal: bool,
}

/// Where the pieces of a rendered text came from.
#[derive(Clone, Debug)]
pub struct Trace {
    source: Arc<Source>,
    marks: Vec<Mark>,
}

impl Trace {
    pub(crate) fn new(source: Arc<Source>, marks: Vec<Mark>) -> Self {
        Self { source, marks }
    }

    /// Line and column, from 1, of the template's text that gave the byte
    /// `offset` of the rendered one: of the tag, if a tag wrote it. Nothing
    /// where that is not known.
    pub fn place(&self, offset: usize) -> Option<(usize, usize)> {
        let behind = self.marks.partition_point(|mark| mark.out <= offset);
        let mark = self.marks.get(behind.checked_sub(1)?)?;
        let mut span = mark.span;
        if mark.literal {
            span.offset = span
                .offset
                .saturating_add(u32::try_from(offset - mark.out).ok()?);
        }
        Some(self.source.line_column(span))
    }

    /// The line of the template with this number, from 1.
    pub fn line_text(&self, line: usize) -> &str {
        let mut lines = self.source.text().lines();
        lines.nth(line.saturating_sub(1)).unwrap_or_default()
    }
}
