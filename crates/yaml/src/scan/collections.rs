//! Where lists and maps begin and end, and the marks of their entries.

use super::Scanner;
use super::cursor::Mark;
use super::keys::PossibleKey;
use super::token::{Fault, TokenKind};
use crate::limits::DEPTH_MAX;

impl Scanner<'_> {
    pub(super) fn flow_start(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.save_key()?;
        if self.keys.len() > DEPTH_MAX {
            let problem = format!("lists and maps are nested more than {DEPTH_MAX} deep");
            return Err(Fault::limit(problem, self.cursor.mark()));
        }
        self.keys.push(PossibleKey::NONE);
        self.key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    pub(super) fn flow_end(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.remove_key()?;
        if self.in_flow() {
            self.keys.pop();
        }
        self.key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    /// Opens a block collection here, where a key must be allowed.
    fn block_start(&mut self, kind: TokenKind, problem: &'static str) -> Result<(), Fault> {
        if self.in_flow() {
            return Ok(());
        }
        let here = self.cursor.mark();
        if !self.key_allowed {
            return Err(Fault::scanner(problem, here));
        }
        self.roll_indent(here.column, None, kind, here);
        Ok(())
    }

    pub(super) fn block_entry(&mut self) -> Result<(), Fault> {
        let problem = "block sequence entries are not allowed in this context";
        self.block_start(TokenKind::BlockListStart, problem)?;
        self.remove_key()?;
        self.key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    pub(super) fn key(&mut self) -> Result<(), Fault> {
        let problem = "mapping keys are not allowed in this context";
        self.block_start(TokenKind::BlockMapStart, problem)?;
        self.remove_key()?;
        self.key_allowed = !self.in_flow();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    pub(super) fn value(&mut self) -> Result<(), Fault> {
        match self.keys.last_mut() {
            Some(key) if key.possible => {
                key.possible = false;
                let PossibleKey { token, mark, .. } = *key;
                self.insert(Some(token), TokenKind::Key, mark);
                self.roll_indent(mark.column, Some(token), TokenKind::BlockMapStart, mark);
                self.key_allowed = false;
            }
            _ => {
                let problem = "mapping values are not allowed in this context";
                self.block_start(TokenKind::BlockMapStart, problem)?;
                self.key_allowed = !self.in_flow();
            }
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// Opens a block collection at `column` if it is further in; its token
    /// goes before the token number `before`, or last.
    fn roll_indent(&mut self, column: u32, before: Option<usize>, kind: TokenKind, mark: Mark) {
        if self.in_flow() || self.indent >= i64::from(column) {
            return;
        }
        self.indents.push(self.indent);
        self.indent = i64::from(column);
        self.insert(before, kind, mark);
    }

    /// Closes the block collections further in than `column`.
    pub(super) fn unroll_indent(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.insert(None, TokenKind::BlockEnd, self.cursor.mark());
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
