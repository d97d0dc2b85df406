//! A place in the text, moving forward.
//!
//! Invariant: after the end there are only NULs, which the text itself cannot hold
//! (the reader refuses them), so looking ahead never fails.

use crate::place::Span;

/// What [`Cursor::peek`] sees behind the end of the text.
pub(super) const END: char = '\0';

/// A place: characters from the start, line and column, all from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: usize,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Mark {
    /// The place as people count.
    pub(crate) fn span(self) -> Span {
        Span {
            line: self.line.saturating_add(1),
            column: self.column.saturating_add(1),
        }
    }
}

/// The unread part of a text.
pub(super) struct Cursor<'t> {
    rest: &'t str,
    mark: Mark,
}

impl<'t> Cursor<'t> {
    /// Starts at the first character, behind a byte order mark.
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            mark: Mark::default(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// The character `ahead` places ahead.
    pub(super) fn peek(&self, ahead: usize) -> char {
        // Nearly all that is looked at is ASCII, where a byte is a character.
        match self.rest.as_bytes().get(..=ahead) {
            Some(head) if head.is_ascii() => head.last().map_or(END, |byte| char::from(*byte)),
            _ => self.rest.chars().nth(ahead).unwrap_or(END),
        }
    }

    /// The next character.
    pub(super) fn first(&self) -> char {
        match self.rest.as_bytes().first() {
            Some(byte) if byte.is_ascii() => char::from(*byte),
            _ => self.rest.chars().next().unwrap_or(END),
        }
    }

    pub(super) fn at(&self, c: char) -> bool {
        self.first() == c
    }

    pub(super) fn at_blank(&self) -> bool {
        is_blank(self.first())
    }

    pub(super) fn at_break(&self) -> bool {
        is_break(self.first())
    }

    /// At a line break or the end.
    pub(super) fn at_breakz(&self) -> bool {
        is_breakz(self.first())
    }

    /// At a blank, a line break or the end.
    pub(super) fn at_blankz(&self) -> bool {
        is_blankz(self.first())
    }

    /// At `---` or `...` that starts a line and stands alone.
    pub(super) fn at_document_indicator(&self) -> bool {
        self.mark.column == 0
            && (self.rest.starts_with("---") || self.rest.starts_with("..."))
            && is_blankz(self.peek(3))
    }

    /// Goes over one character that is no line break.
    pub(super) fn skip(&mut self) {
        self.take();
    }

    pub(super) fn skip_many(&mut self, count: usize) {
        for _ in 0..count {
            self.take();
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        self.take_run(|byte| matches!(byte, b' ' | b'\t'));
    }

    /// Goes over a comment, if there is one, up to the end of the line.
    pub(super) fn skip_comment(&mut self) {
        if self.at('#') {
            self.take_run(is_in_line);
            while !self.at_breakz() {
                self.skip();
                self.take_run(is_in_line);
            }
        }
    }

    /// Takes the ASCII characters in front that are `good`, none of which may
    /// be a line break.
    pub(super) fn take_run(&mut self, mut good: impl FnMut(u8) -> bool) -> &'t str {
        let bytes = self.rest.as_bytes().iter();
        let length = bytes
            .take_while(|byte| byte.is_ascii() && good(**byte))
            .count();
        let (run, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = rest;
        self.mark.index += length;
        let columns = u32::try_from(length).unwrap_or(u32::MAX);
        self.mark.column = self.mark.column.saturating_add(columns);
        run
    }

    /// Takes one character that is no line break; none at the end.
    pub(super) fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        self.mark.index += 1;
        self.mark.column = self.mark.column.saturating_add(1);
        Some(c)
    }

    /// Takes one character to `out`.
    pub(super) fn read(&mut self, out: &mut String) {
        out.extend(self.take());
    }

    /// Takes a line break, if there is one: `\n` for the usual ones, itself
    /// for the separators of Unicode.
    pub(super) fn take_break(&mut self) -> Option<char> {
        if !self.at_break() {
            return None;
        }
        let width = if self.rest.starts_with("\r\n") { 2 } else { 1 };
        let mut last = END;
        for _ in 0..width {
            last = self.take()?;
        }
        self.mark.line = self.mark.line.saturating_add(1);
        self.mark.column = 0;
        Some(match last {
            '\u{2028}' | '\u{2029}' => last,
            _ => '\n',
        })
    }

    pub(super) fn skip_break(&mut self) {
        self.take_break();
    }

    pub(super) fn read_break(&mut self, out: &mut String) {
        out.extend(self.take_break());
    }

    /// Moves to the start of the next line at the end of the text, where
    /// libyaml places what it finds missing.
    pub(super) fn end_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line = self.mark.line.saturating_add(1);
        }
    }
}

/// An ASCII character that a line goes on with: most of those in scalars.
pub(super) fn is_in_line(byte: u8) -> bool {
    !matches!(byte, b'\r' | b'\n')
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_breakz(c: char) -> bool {
    c == END || is_break(c)
}

pub(super) fn is_blankz(c: char) -> bool {
    is_blank(c) || is_breakz(c)
}

/// A character of names: of anchors, directives and tag handles.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}
