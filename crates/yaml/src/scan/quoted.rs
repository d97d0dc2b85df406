//! Inline scalars: quoted and plain ones, folded where they are broken.

use super::Scanner;
use super::cursor::{Mark, is_blank, is_break};
use super::token::{Fault, Token, TokenKind};

const QUOTED: &str = "while scanning a quoted scalar";
const ESCAPE: &str = "while parsing a quoted scalar";
const PLAIN: &str = "while scanning a plain scalar";

/// The white space between two words of a scalar, which may hold line breaks.
#[derive(Default)]
struct Gap<'t> {
    blanks: &'t str,
    first_break: Option<char>,
    more_breaks: String,
    /// Whether the line has been broken.
    broken: bool,
}

impl Gap<'_> {
    /// Appends what the gap means to `out`: blanks as they are, one line break
    /// as a blank, more breaks as one less.
    fn fold(&mut self, out: &mut String) {
        if !self.broken {
            out.push_str(self.blanks);
        } else if self.first_break != Some('\n') {
            out.extend(self.first_break);
            out.push_str(&self.more_breaks);
        } else if self.more_breaks.is_empty() {
            out.push(' ');
        } else {
            out.push_str(&self.more_breaks);
        }
        *self = Self::default();
    }
}

impl<'t> Scanner<'t> {
    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token, Fault> {
        let quote = if single { '\'' } else { '"' };
        let mut text = String::new();
        let mut gap = Gap::default();
        let start = self.cursor.mark();
        self.cursor.skip();
        loop {
            let here = self.cursor.mark();
            if self.cursor.at_document_indicator() {
                let problem = "found unexpected document indicator";
                return Err(Fault::scanner(problem, here).while_reading(QUOTED, start));
            }
            if self.cursor.at(super::END) {
                let problem = "found unexpected end of stream";
                return Err(Fault::scanner(problem, here).while_reading(QUOTED, start));
            }
            loop {
                text.push_str(self.cursor.take_run(is_of_quoted));
                if self.cursor.at_blankz() {
                    break;
                }
                if single && self.cursor.at('\'') && self.cursor.peek(1) == '\'' {
                    self.cursor.skip_many(2);
                    text.push('\'');
                } else if self.cursor.at(quote) {
                    break;
                } else if !single && self.cursor.at('\\') {
                    if is_break(self.cursor.peek(1)) {
                        self.cursor.skip();
                        self.cursor.skip_break();
                        gap.broken = true;
                        break;
                    }
                    text.push(self.scan_escape(start)?);
                } else {
                    self.cursor.read(&mut text);
                }
            }
            if self.cursor.at(quote) {
                break;
            }
            while self.cursor.at_blank() || self.cursor.at_break() {
                self.scan_gap(&mut gap);
            }
            // Behind an escaped break, only more breaks are left to mean.
            gap.fold(&mut text);
        }
        self.cursor.skip();
        Ok(self.scalar(text, false, start, self.cursor.mark()))
    }

    fn scalar(&self, text: String, plain: bool, start: Mark, end: Mark) -> Token {
        let kind = TokenKind::Scalar { text, plain };
        Token { kind, start, end }
    }

    /// Takes one blank or line break. Blanks at the start of a line are lost.
    fn scan_gap(&mut self, gap: &mut Gap<'t>) {
        match (self.cursor.at_blank(), gap.broken) {
            (true, true) => self.cursor.skip(),
            // All blanks of the line, so that there are none yet.
            (true, false) => gap.blanks = self.cursor.take_run(|byte| is_blank(byte.into())),
            (false, true) => self.cursor.read_break(&mut gap.more_breaks),
            (false, false) => {
                gap.blanks = "";
                gap.first_break = self.cursor.take_break();
                gap.broken = true;
            }
        }
    }

    fn scan_escape(&mut self, start: Mark) -> Result<char, Fault> {
        let here = self.cursor.mark();
        let digits = match self.cursor.peek(1) {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            code => {
                let Some(c) = escaped(code) else {
                    let problem = "found unknown escape character";
                    return Err(Fault::scanner(problem, here).while_reading(ESCAPE, start));
                };
                self.cursor.skip_many(2);
                return Ok(c);
            }
        };
        self.cursor.skip_many(2);
        let here = self.cursor.mark();
        let mut code = 0u32;
        for at in 0..digits {
            let Some(digit) = self.cursor.peek(at).to_digit(16) else {
                let problem = "did not find expected hexdecimal number";
                return Err(Fault::scanner(problem, here).while_reading(ESCAPE, start));
            };
            code = (code << 4) | digit;
        }
        let Some(c) = char::from_u32(code) else {
            let problem = "found invalid Unicode character escape code";
            return Err(Fault::scanner(problem, here).while_reading(ESCAPE, start));
        };
        self.cursor.skip_many(digits);
        Ok(c)
    }

    pub(super) fn scan_plain(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let mut end = start;
        let mut text = String::new();
        let mut gap = Gap::default();
        let indent = self.indent + 1;
        loop {
            if self.cursor.at_document_indicator() || self.cursor.at('#') {
                break;
            }
            while !self.cursor.at_blankz() {
                if self.ends_plain(start)? {
                    break;
                }
                if gap.broken || !gap.blanks.is_empty() {
                    gap.fold(&mut text);
                }
                self.cursor.read(&mut text);
                text.push_str(self.cursor.take_run(is_of_plain));
                end = self.cursor.mark();
            }
            if !(self.cursor.at_blank() || self.cursor.at_break()) {
                break;
            }
            while self.cursor.at_blank() || self.cursor.at_break() {
                let here = self.cursor.mark();
                if gap.broken && i64::from(here.column) < indent && self.cursor.at('\t') {
                    let problem = "found a tab character that violates indentation";
                    return Err(Fault::scanner(problem, here).while_reading(PLAIN, start));
                }
                self.scan_gap(&mut gap);
            }
            if !self.in_flow() && i64::from(self.cursor.mark().column) < indent {
                break;
            }
        }
        if gap.broken {
            self.key_allowed = true;
        }
        Ok(self.scalar(text, true, start, end))
    }

    /// Whether a plain scalar ends before the next character.
    fn ends_plain(&self, start: Mark) -> Result<bool, Fault> {
        let next = self.cursor.peek(1);
        let flow = self.in_flow();
        match self.cursor.first() {
            ':' if flow && matches!(next, ',' | '?' | '[' | ']' | '{' | '}') => {
                let here = self.cursor.mark();
                Err(Fault::scanner("found unexpected ':'", here).while_reading(PLAIN, start))
            }
            ':' => Ok(super::is_blankz(next)),
            ',' | '[' | ']' | '{' | '}' => Ok(flow),
            _ => Ok(false),
        }
    }
}

/// An ASCII character that means only itself in quotes.
fn is_of_quoted(byte: u8) -> bool {
    !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'\'' | b'"' | b'\\')
}

/// An ASCII character that means only itself behind the first one of a plain
/// scalar.
fn is_of_plain(byte: u8) -> bool {
    !matches!(
        byte,
        b' ' | b'\t' | b'\r' | b'\n' | b':' | b',' | b'[' | b']' | b'{' | b'}'
    )
}

/// What the escape `\c` stands for, without those with a number.
fn escaped(c: char) -> Option<char> {
    Some(match c {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        ' ' | '"' | '/' | '\\' => c,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
