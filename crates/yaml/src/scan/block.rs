//! Block scalars: `|` keeps line breaks, `>` folds them.

use super::cursor::{Mark, is_in_line};
use super::token::{Fault, Token, TokenKind};
use super::{END, Scanner};

const BLOCK: &str = "while scanning a block scalar";

/// What happens to the line breaks at the end.
#[derive(Clone, Copy, PartialEq)]
enum Chomping {
    /// `-`: none is kept.
    Strip,
    /// One is kept.
    Clip,
    /// `+`: all are kept.
    Keep,
}

impl Scanner<'_> {
    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        self.cursor.skip();
        let (chomping, increment) = self.block_header(start)?;
        let mut indent = increment.map(|increment| self.indent.max(0) + increment);
        let mut text = String::new();
        let mut first_break = None;
        let mut more_breaks = String::new();
        let mut end = self.block_breaks(&mut indent, &mut more_breaks, start)?;
        let mut was_blank = false;
        while Some(i64::from(self.cursor.mark().column)) == indent && !self.cursor.at(END) {
            let blank = self.cursor.at_blank();
            if !literal && first_break == Some('\n') && !was_blank && !blank {
                if more_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(first_break);
            }
            text.push_str(&more_breaks);
            more_breaks.clear();
            was_blank = blank;
            text.push_str(self.cursor.take_run(is_in_line));
            while !self.cursor.at_breakz() {
                self.cursor.read(&mut text);
                text.push_str(self.cursor.take_run(is_in_line));
            }
            first_break = self.cursor.take_break();
            end = self.block_breaks(&mut indent, &mut more_breaks, start)?;
        }
        if chomping != Chomping::Strip {
            text.extend(first_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&more_breaks);
        }
        let kind = TokenKind::Scalar { text, plain: false };
        Ok(Token { kind, start, end })
    }

    /// What follows `|` or `>` on its line: how the end is chomped and by how
    /// much the text is indented, in either order, and a comment.
    fn block_header(&mut self, start: Mark) -> Result<(Chomping, Option<i64>), Fault> {
        let mut chomping = self.chomping();
        let increment = self.increment(start)?;
        if chomping.is_none() && increment.is_some() {
            chomping = self.chomping();
        }
        self.cursor.skip_blanks();
        self.cursor.skip_comment();
        if !self.cursor.at_breakz() {
            let problem = "did not find expected comment or line break";
            let here = self.cursor.mark();
            return Err(Fault::scanner(problem, here).while_reading(BLOCK, start));
        }
        self.cursor.skip_break();
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.cursor.first() {
            '+' => Chomping::Keep,
            '-' => Chomping::Strip,
            _ => return None,
        };
        self.cursor.skip();
        Some(chomping)
    }

    fn increment(&mut self, start: Mark) -> Result<Option<i64>, Fault> {
        match self.cursor.first().to_digit(10) {
            None => Ok(None),
            Some(0) => {
                let problem = "found an indentation indicator equal to 0";
                let here = self.cursor.mark();
                Err(Fault::scanner(problem, here).while_reading(BLOCK, start))
            }
            Some(digit) => {
                self.cursor.skip();
                Ok(Some(i64::from(digit)))
            }
        }
    }

    /// Takes empty lines and the indentation of the next line; the first line
    /// that is not empty tells the indentation if nothing else has.
    fn block_breaks(
        &mut self,
        indent: &mut Option<i64>,
        breaks: &mut String,
        start: Mark,
    ) -> Result<Mark, Fault> {
        let mut deepest = 0;
        let mut end = self.cursor.mark();
        loop {
            let mut column = i64::from(self.cursor.mark().column);
            self.cursor.take_run(|byte| {
                let goes_on = byte == b' ' && indent.is_none_or(|indent| column < indent);
                column += i64::from(goes_on);
                goes_on
            });
            deepest = deepest.max(column);
            if indent.is_none_or(|indent| column < indent) && self.cursor.at('\t') {
                let problem = "found a tab character where an indentation space is expected";
                let here = self.cursor.mark();
                return Err(Fault::scanner(problem, here).while_reading(BLOCK, start));
            }
            if !self.cursor.at_break() {
                break;
            }
            self.cursor.read_break(breaks);
            end = self.cursor.mark();
        }
        if indent.is_none() {
            *indent = Some(deepest.max(self.indent + 1).max(1));
        }
        Ok(end)
    }
}
