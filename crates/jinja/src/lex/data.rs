//! The text between the tags: finds where tags, comments, raw parts and line
//! statements begin, and strips what whitespace control says. Offsets are those of
//! the original text.

use std::sync::Arc;

use super::expression::{self, Ended};
use super::token::{Token, TokenKind};
use crate::error::{Error, ErrorKind, Result};
use crate::settings::Settings;
use crate::source::{Source, Span};

/// All tokens of a template, the end last; and the error at that end, if what
/// follows is none. Jinja2 reads tokens as it parses, so that a mistake of the
/// grammar before it is told first.
pub(crate) fn tokens(source: &Arc<Source>, settings: &Settings) -> (Vec<Token>, Option<Error>) {
    let mut lexer = Lexer {
        source,
        text: source.text(),
        settings,
        at: 0,
        fresh_line: true,
        tokens: Vec::new(),
        next: [Next::Unknown; 3],
    };
    let fault = loop {
        match lexer.step() {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    let end = Span::at(lexer.text.len());
    lexer.push(TokenKind::End, end);
    (lexer.tokens, fault)
}

#[derive(Clone, Copy, PartialEq)]
enum Opener {
    Block,
    Variable,
    Comment,
    LineStatement,
    LineComment,
}

struct Lexer<'a> {
    source: &'a Arc<Source>,
    text: &'a str,
    settings: &'a Settings,
    at: usize,
    /// Whether what was read last ended a line.
    fresh_line: bool,
    tokens: Vec<Token>,
    /// Where each opener comes next, as far as it was looked for: a text
    /// without comments is searched for them once.
    next: [Next; 3],
}

#[derive(Clone, Copy)]
enum Next {
    Unknown,
    At(usize),
    Never,
}

impl<'a> Lexer<'a> {
    fn push(&mut self, kind: TokenKind, span: Span) {
        self.tokens.push(Token { span, kind });
    }

    fn fail(&self, offset: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, message).at(self.source, Span::at(offset))
    }

    /// One piece of text and the tag after it; false at the end.
    fn step(&mut self) -> Result<bool> {
        let start = self.at;
        let Some((position, after, opener)) = self.next_opener() else {
            let rest = &self.text[start..];
            self.push_data(rest, start);
            self.at = self.text.len();
            return Ok(false);
        };
        let rest = &self.text[after..];
        let sign = rest.chars().next().filter(|c| matches!(c, '-' | '+'));
        let data = self.stripped(start, position, opener, sign);
        self.push_data(data, start);
        self.at = after + sign.map_or(0, char::len_utf8);
        match opener {
            Opener::Comment => self.comment(position)?,
            Opener::LineComment => {
                let end = self.text[self.at..].find('\n');
                self.at = end.map_or(self.text.len(), |end| self.at + end);
            }
            Opener::Block if self.raw(position)? => {}
            Opener::Block | Opener::LineStatement => {
                self.push(TokenKind::BlockBegin, Span::at(position));
                self.expression(position, opener)?;
            }
            Opener::Variable => {
                self.push(TokenKind::VariableBegin, Span::at(position));
                self.expression(position, opener)?;
            }
        }
        self.fresh_line = self.text[..self.at].ends_with('\n');
        Ok(true)
    }

    fn push_data(&mut self, data: &str, offset: usize) {
        if data.is_empty() {
            return;
        }
        let text = if self.settings.newline == "\n" {
            data.into()
        } else {
            data.replace('\n', &self.settings.newline).into()
        };
        self.push(TokenKind::Data(text), Span::at(offset));
    }

    /// Where the next tag begins, where its opener ends, and which it is. The
    /// longest opener wins where several begin at the same place.
    fn next_opener(&mut self) -> Option<(usize, usize, Opener)> {
        let settings = self.settings;
        let rest = &self.text[self.at..];
        let mut best: Option<(usize, usize, Opener)> = None;
        let mut offer = |position: usize, length: usize, opener: Opener| {
            let better = best.is_none_or(|(at, after, _)| {
                position < at || (position == at && position + length > after)
            });
            if better {
                best = Some((position, position + length, opener));
            }
        };
        for ((delimiter, opener), next) in [
            (&settings.comment_start, Opener::Comment),
            (&settings.block_start, Opener::Block),
            (&settings.variable_start, Opener::Variable),
        ]
        .into_iter()
        .zip(&mut self.next)
        {
            let known = matches!(next, Next::Never)
                || matches!(next, Next::At(position) if *position >= self.at);
            if !known {
                let found = rest.find(delimiter.as_str());
                *next = found.map_or(Next::Never, |found| Next::At(self.at + found));
            }
            if let Next::At(position) = *next {
                offer(position, delimiter.len(), opener);
            }
        }
        if let Some(prefix) = &settings.line_statement_prefix
            && let Some((position, length)) = self.line_prefix(prefix)
        {
            offer(position, length, Opener::LineStatement);
        }
        if let Some(prefix) = &settings.line_comment_prefix
            && let Some((position, length)) = self.comment_prefix(prefix)
        {
            offer(position, length, Opener::LineComment);
        }
        best
    }

    /// The next line that starts with a prefix after blanks only.
    fn line_prefix(&self, prefix: &str) -> Option<(usize, usize)> {
        let mut line = self.at;
        if line > 0 && !self.text[..line].ends_with('\n') {
            line += self.text[line..].find('\n')? + 1;
        }
        loop {
            let text = &self.text[line..];
            let blanks = text.len() - text.trim_start_matches([' ', '\t', '\u{b}']).len();
            if text[blanks..].starts_with(prefix) {
                return Some((line, blanks + prefix.len()));
            }
            line += text.find('\n')? + 1;
        }
    }

    /// The next line comment; the blanks before it belong to it.
    fn comment_prefix(&self, prefix: &str) -> Option<(usize, usize)> {
        let rest = &self.text[self.at..];
        let found = rest.find(prefix)?;
        let before = &rest[..found];
        let blanks = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        Some((self.at + blanks.len(), found - blanks.len() + prefix.len()))
    }

    /// The text before a tag after whitespace control.
    fn stripped(&self, start: usize, end: usize, opener: Opener, sign: Option<char>) -> &'a str {
        let text: &'a str = self.text;
        let data = &text[start..end];
        if sign == Some('-') {
            return data.trim_end();
        }
        let strips = self.settings.lstrip_blocks
            && sign != Some('+')
            && !matches!(opener, Opener::Variable | Opener::LineComment);
        if strips {
            let line = data.rfind('\n').map_or(0, |at| at + 1);
            if (line > 0 || self.fresh_line) && data[line..].trim().is_empty() {
                return &data[..line];
            }
        }
        data
    }

    fn comment(&mut self, position: usize) -> Result<()> {
        let close = &self.settings.comment_end;
        let Some(found) = self.text[self.at..].find(close.as_str()) else {
            return Err(self.fail(position, "Missing end of comment tag"));
        };
        let body = &self.text[self.at..self.at + found];
        let sign = body.chars().last().filter(|c| matches!(c, '-' | '+'));
        self.at += found + close.len();
        self.after_block(sign);
        Ok(())
    }

    /// Whitespace control after a block's end.
    fn after_block(&mut self, sign: Option<char>) {
        let rest = &self.text[self.at..];
        match sign {
            Some('-') => self.at += rest.len() - rest.trim_start().len(),
            Some(_) => {}
            None if self.settings.trim_blocks && rest.starts_with('\n') => self.at += 1,
            None => {}
        }
    }

    /// A raw part, if the block that was just opened is one.
    fn raw(&mut self, position: usize) -> Result<bool> {
        let Some((length, sign)) = self.word_block(self.at, "raw") else {
            return Ok(false);
        };
        let mut body = self.at + length;
        if sign == Some('-') {
            let rest = &self.text[body..];
            body += rest.len() - rest.trim_start().len();
        } else if sign == Some('+') {
            return Ok(false);
        }
        let mut search = body;
        loop {
            let Some(found) = self.text[search..].find(self.settings.block_start.as_str()) else {
                return Err(self.fail(position, "Missing end of raw directive"));
            };
            let open = search + found;
            let mut inside = open + self.settings.block_start.len();
            let lead = self.text[inside..]
                .chars()
                .next()
                .filter(|c| matches!(c, '-' | '+'));
            inside += lead.map_or(0, char::len_utf8);
            if let Some((length, sign)) = self.word_block(inside, "endraw") {
                self.fresh_line = self.text[..body].ends_with('\n');
                let data = self.stripped(body, open, Opener::Block, lead);
                self.push_data(data, body);
                self.at = inside + length;
                self.after_block(sign);
                return Ok(true);
            }
            search = inside;
        }
    }

    /// The length of `word` and a block's end at a place, and the end's sign.
    fn word_block(&self, at: usize, word: &str) -> Option<(usize, Option<char>)> {
        let text = &self.text[at..];
        let rest = text.trim_start().strip_prefix(word)?;
        let rest = rest.trim_start();
        let sign = rest.chars().next().filter(|c| matches!(c, '-' | '+'));
        let rest = &rest[sign.map_or(0, char::len_utf8)..];
        let rest = rest.strip_prefix(self.settings.block_end.as_str())?;
        Some((text.len() - rest.len(), sign))
    }

    fn expression(&mut self, position: usize, opener: Opener) -> Result<()> {
        let close = match opener {
            Opener::Block => Some(self.settings.block_end.as_str()),
            Opener::Variable => Some(self.settings.variable_end.as_str()),
            _ => None,
        };
        let Ended { at, end, sign } = expression::tokens(
            self.source,
            self.at,
            close,
            opener == Opener::Variable,
            &mut self.tokens,
        )
        .map_err(|error| error.at(self.source, Span::at(position)))?;
        self.at = at;
        let kind = if opener == Opener::Variable {
            TokenKind::VariableEnd
        } else {
            TokenKind::BlockEnd
        };
        self.push(kind, Span::at(end));
        match opener {
            Opener::Block => self.after_block(sign),
            Opener::Variable if sign.is_some() => self.after_block(sign),
            _ => {}
        }
        Ok(())
    }
}
