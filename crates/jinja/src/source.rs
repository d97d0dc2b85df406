//! A template's text and places in it. A span is a byte offset; line and
//! column are counted only for an error message.

use std::sync::Arc;

/// Text that a template and its values share.
pub(crate) type Str = Arc<str>;

/// The text of a template and the name that errors give it.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
}

/// A place in a template: a byte offset into its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    pub(crate) offset: u32,
}

impl Source {
    fn new(name: &str, text: String) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            text,
        })
    }

    /// A template's text as Jinja2 reads it: one kind of newline, and the last
    /// one dropped unless it is to be kept.
    pub(crate) fn of_text(name: &str, text: &str, keep_trailing_newline: bool) -> Arc<Self> {
        let mut text = if text.contains('\r') {
            text.replace("\r\n", "\n").replace('\r', "\n")
        } else {
            text.to_owned()
        };
        if !keep_trailing_newline && text.ends_with('\n') {
            text.pop();
        }
        Self::new(name, text)
    }

    /// What errors call this template.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a place, both from 1; columns count characters.
    pub fn line_column(&self, span: Span) -> (usize, usize) {
        let before = self.before(span);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[start..].chars().count() + 1)
    }

    /// The whole line that holds a place.
    pub fn line_text(&self, span: Span) -> &str {
        let before = self.before(span);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        self.text[start..].lines().next().unwrap_or_default()
    }

    fn before(&self, span: Span) -> &str {
        let mut end = (span.offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }
}

impl Span {
    pub(crate) fn at(offset: usize) -> Self {
        Self {
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        }
    }
}
