//! The states inside `[...]` and `{...}`.

use super::{Event, EventKind, Parser, ParserState, event};
use crate::scan::token::{Fault, TokenKind};

impl Parser<'_> {
    /// Takes the comma before every entry but the first.
    fn comma(&mut self, context: &'static str, problem: &'static str) -> Result<(), Fault> {
        if self.scanner.peek()?.kind != TokenKind::FlowEntry {
            return self.missing(context, problem);
        }
        self.scanner.take()?;
        Ok(())
    }

    pub(super) fn flow_list(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        if self.scanner.peek()?.kind != TokenKind::FlowListEnd {
            if !first {
                self.comma(
                    "while parsing a flow sequence",
                    "did not find expected ',' or ']'",
                )?;
            }
            match self.scanner.peek()?.kind {
                TokenKind::Key => {
                    let mark = self.scanner.take()?.start;
                    self.state = ParserState::PairKey;
                    return Ok(event(EventKind::MapStart(None), mark));
                }
                TokenKind::FlowListEnd => {}
                _ => return self.node_then(ParserState::FlowList { first: false }, false, false),
            }
        }
        self.collection_end()
    }

    pub(super) fn pair_key(&mut self) -> Result<Event, Fault> {
        match self.scanner.peek()?.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowListEnd => {
                let mark = self.scanner.take()?.end;
                Ok(self.empty(mark, ParserState::PairValue))
            }
            _ => self.node_then(ParserState::PairValue, false, false),
        }
    }

    pub(super) fn pair_value(&mut self) -> Result<Event, Fault> {
        if self.scanner.peek()?.kind == TokenKind::Value {
            self.scanner.take()?;
            if !matches!(
                self.scanner.peek()?.kind,
                TokenKind::FlowEntry | TokenKind::FlowListEnd
            ) {
                return self.node_then(ParserState::PairEnd, false, false);
            }
        }
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark, ParserState::PairEnd))
    }

    pub(super) fn flow_key(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        if self.scanner.peek()?.kind != TokenKind::FlowMapEnd {
            if !first {
                self.comma(
                    "while parsing a flow mapping",
                    "did not find expected ',' or '}'",
                )?;
            }
            match self.scanner.peek()?.kind {
                TokenKind::Key => {
                    self.scanner.take()?;
                    let token = self.scanner.peek()?;
                    return match token.kind {
                        TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMapEnd => {
                            let mark = token.start;
                            Ok(self.empty(mark, ParserState::FlowValue))
                        }
                        _ => self.node_then(ParserState::FlowValue, false, false),
                    };
                }
                TokenKind::FlowMapEnd => {}
                _ => return self.node_then(ParserState::FlowNoValue, false, false),
            }
        }
        self.collection_end()
    }

    pub(super) fn flow_value(&mut self) -> Result<Event, Fault> {
        let then = ParserState::FlowKey { first: false };
        if self.scanner.peek()?.kind == TokenKind::Value {
            self.scanner.take()?;
            if !matches!(
                self.scanner.peek()?.kind,
                TokenKind::FlowEntry | TokenKind::FlowMapEnd
            ) {
                return self.node_then(then, false, false);
            }
        }
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark, then))
    }
}
