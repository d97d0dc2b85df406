//! The states inside `[...]` and `{...}`.

use super::{Event, Parser, State, What, event};
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
                    self.state = State::PairKey;
                    return Ok(event(What::MapStart(None), mark));
                }
                TokenKind::FlowListEnd => {}
                _ => return self.node_then(State::FlowList { first: false }, false, false),
            }
        }
        self.collection_end()
    }

    pub(super) fn pair_key(&mut self) -> Result<Event, Fault> {
        match self.scanner.peek()?.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowListEnd => {
                let mark = self.scanner.take()?.end;
                Ok(self.empty(mark, State::PairValue))
            }
            _ => self.node_then(State::PairValue, false, false),
        }
    }

    pub(super) fn pair_value(&mut self) -> Result<Event, Fault> {
        if self.scanner.peek()?.kind == TokenKind::Value {
            self.scanner.take()?;
            if !matches!(
                self.scanner.peek()?.kind,
                TokenKind::FlowEntry | TokenKind::FlowListEnd
            ) {
                return self.node_then(State::PairEnd, false, false);
            }
        }
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark, State::PairEnd))
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
                            Ok(self.empty(mark, State::FlowValue))
                        }
                        _ => self.node_then(State::FlowValue, false, false),
                    };
                }
                TokenKind::FlowMapEnd => {}
                _ => return self.node_then(State::FlowNoValue, false, false),
            }
        }
        self.collection_end()
    }

    pub(super) fn flow_value(&mut self) -> Result<Event, Fault> {
        let then = State::FlowKey { first: false };
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
