//! From characters to tokens, by libyaml's rules (0.2.5), which are YAML 1.1 with
//! some freedoms.
//!
//! The difficulty of YAML is that `a` is a key only because of a later `:`. Places
//! where a key may have started are remembered per flow level, and the key's token
//! is inserted before them once the `:` is found.

mod block;
mod collections;
pub(crate) mod cursor;
mod keys;
mod quoted;
mod tag;
pub(crate) mod token;

use std::collections::VecDeque;

use cursor::{Cursor, END, Mark, is_blank, is_blankz};
use keys::PossibleKey;
use token::{Fault, Token, TokenKind};

/// Finds the tokens of a text.
pub(crate) struct Scanner<'t> {
    cursor: Cursor<'t>,
    tokens: VecDeque<Token>,
    /// Whether the first of them is known to be the next one.
    ready: bool,
    /// How many tokens have been handed out.
    taken: usize,
    /// The column of the current block collection, -1 outside all.
    indent: i64,
    indents: Vec<i64>,
    /// Whether a key without a `?` may start here.
    key_allowed: bool,
    /// Where a key may have started, for each flow level.
    keys: Vec<PossibleKey>,
    /// Whether the end has been found.
    ended: bool,
}

impl<'t> Scanner<'t> {
    /// Starts at the first character of `text`.
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            cursor: Cursor::new(text),
            tokens: VecDeque::new(),
            ready: false,
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![PossibleKey::NONE],
            ended: false,
        }
    }

    /// The next token; the last one is the end of the stream, again and again.
    pub(crate) fn peek(&mut self) -> Result<&Token, Fault> {
        if !self.ready {
            while self.needs_more()? {
                self.fetch()?;
            }
            self.ready = true;
        }
        let mark = self.cursor.mark();
        let end = || Fault::scanner("there is nothing more", mark);
        self.tokens.front().ok_or_else(end)
    }

    /// Hands out the next token.
    pub(crate) fn take(&mut self) -> Result<Token, Fault> {
        self.peek()?;
        let mark = self.cursor.mark();
        self.taken += 1;
        self.ready = false;
        let end = || Fault::scanner("there is nothing more", mark);
        self.tokens.pop_front().ok_or_else(end)
    }

    fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    /// Finds at least one more token, or goes on in finding one.
    fn fetch(&mut self) -> Result<(), Fault> {
        self.skip_to_token();
        self.forget_stale_keys()?;
        self.unroll_indent(i64::from(self.cursor.mark().column));
        if self.cursor.at(END) {
            return self.stream_end();
        }
        let here = self.cursor.mark();
        if here.column == 0 && self.cursor.at('%') {
            self.leave_document()?;
            let token = self.scan_directive()?;
            self.tokens.push_back(token);
            return Ok(());
        }
        if self.cursor.at_document_indicator() {
            self.leave_document()?;
            let kind = if self.cursor.at('-') {
                TokenKind::DocumentStart
            } else {
                TokenKind::DocumentEnd
            };
            self.push_indicator(kind, 3);
            return Ok(());
        }
        let next = self.cursor.peek(1);
        match self.cursor.first() {
            '[' => self.flow_start(TokenKind::FlowListStart),
            '{' => self.flow_start(TokenKind::FlowMapStart),
            ']' => self.flow_end(TokenKind::FlowListEnd),
            '}' => self.flow_end(TokenKind::FlowMapEnd),
            ',' => {
                self.remove_key()?;
                self.key_allowed = true;
                self.push_indicator(TokenKind::FlowEntry, 1);
                Ok(())
            }
            '-' if is_blankz(next) => self.block_entry(),
            '?' if self.in_flow() || is_blankz(next) => self.key(),
            ':' if self.in_flow() || is_blankz(next) => self.value(),
            '*' => self.word(true),
            '&' => self.word(false),
            '!' => {
                self.save_key()?;
                self.key_allowed = false;
                let token = self.scan_tag()?;
                self.tokens.push_back(token);
                Ok(())
            }
            '|' if !self.in_flow() => self.block_scalar(true),
            '>' if !self.in_flow() => self.block_scalar(false),
            '\'' => self.quoted(true),
            '"' => self.quoted(false),
            first if self.starts_plain(first, next) => self.plain(),
            _ => {
                let problem = "found character that cannot start any token";
                let context = "while scanning for the next token";
                Err(Fault::scanner(problem, here).while_reading(context, here))
            }
        }
    }

    fn starts_plain(&self, first: char, next: char) -> bool {
        match first {
            '-' => !is_blank(next),
            '?' | ':' => !self.in_flow() && !is_blankz(next),
            ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`' => false,
            other => !is_blankz(other),
        }
    }

    /// Goes over blanks, comments and line breaks. A tab counts as a blank
    /// only where no key could start; a byte order mark may start a line.
    fn skip_to_token(&mut self) {
        loop {
            if self.cursor.mark().column == 0 && self.cursor.at('\u{feff}') {
                self.cursor.skip();
            }
            let tabs = self.in_flow() || !self.key_allowed;
            self.cursor
                .take_run(|byte| byte == b' ' || tabs && byte == b'\t');
            self.cursor.skip_comment();
            if !self.cursor.at_break() {
                return;
            }
            self.cursor.skip_break();
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    fn insert(&mut self, before: Option<usize>, kind: TokenKind, mark: Mark) {
        let token = Token {
            kind,
            start: mark,
            end: mark,
        };
        let last = self.tokens.len();
        let at = before.map_or(last, |number| number.saturating_sub(self.taken));
        self.tokens.insert(at.min(last), token);
    }

    fn push_indicator(&mut self, kind: TokenKind, width: usize) {
        let start = self.cursor.mark();
        self.cursor.skip_many(width);
        let end = self.cursor.mark();
        self.tokens.push_back(Token { kind, start, end });
    }

    fn leave_document(&mut self) -> Result<(), Fault> {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        Ok(())
    }

    fn stream_end(&mut self) -> Result<(), Fault> {
        self.cursor.end_line();
        if !self.ended {
            self.leave_document()?;
        }
        self.ended = true;
        self.insert(None, TokenKind::StreamEnd, self.cursor.mark());
        Ok(())
    }

    fn word(&mut self, alias: bool) -> Result<(), Fault> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_word(alias)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn block_scalar(&mut self, literal: bool) -> Result<(), Fault> {
        self.remove_key()?;
        self.key_allowed = true;
        let token = self.scan_block_scalar(literal)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn quoted(&mut self, single: bool) -> Result<(), Fault> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_quoted(single)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn plain(&mut self) -> Result<(), Fault> {
        self.save_key()?;
        self.key_allowed = false;
        let token = self.scan_plain()?;
        self.tokens.push_back(token);
        Ok(())
    }
}
