//! Lists and maps by indentation.

use super::{Event, EventKind, Parser, ParserState, event};
use crate::scan::cursor::Mark;
use crate::scan::token::{Fault, TokenKind};

impl Parser<'_> {
    pub(super) fn block_list(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry => {
                let mark = self.scanner.take()?.end;
                let then = ParserState::BlockList { first: false };
                match self.scanner.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => Ok(self.empty(mark, then)),
                    _ => self.node_then(then, true, false),
                }
            }
            TokenKind::BlockEnd => self.collection_end(),
            _ => self.missing(
                "while parsing a block collection",
                "did not find expected '-' indicator",
            ),
        }
    }

    pub(super) fn indentless_list(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::BlockEntry {
            let mark = token.start;
            self.pop_state();
            return Ok(event(EventKind::CollectionEnd, mark));
        }
        let mark = self.scanner.take()?.end;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark, ParserState::IndentlessList))
            }
            _ => self.node_then(ParserState::IndentlessList, true, false),
        }
    }

    pub(super) fn block_key(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        match self.scanner.peek()?.kind {
            TokenKind::Key => {
                let mark = self.scanner.take()?.end;
                self.block_part(mark, ParserState::BlockValue)
            }
            TokenKind::BlockEnd => self.collection_end(),
            _ => self.missing("while parsing a block mapping", "did not find expected key"),
        }
    }

    pub(super) fn block_value(&mut self) -> Result<Event, Fault> {
        let then = ParserState::BlockKey { first: false };
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::Value {
            let mark = token.start;
            return Ok(self.empty(mark, then));
        }
        let mark = self.scanner.take()?.end;
        self.block_part(mark, then)
    }

    /// The key or value behind its indicator, which ended at `mark`.
    fn block_part(&mut self, mark: Mark, then: ParserState) -> Result<Event, Fault> {
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => Ok(self.empty(mark, then)),
            _ => self.node_then(then, true, true),
        }
    }
}
