//! Where documents begin and end, and the directives before them.

use super::{Event, EventKind, Parser, ParserState, event};
use crate::scan::token::{Fault, TagParts, TokenKind};

impl Parser<'_> {
    pub(super) fn document(&mut self, first: bool) -> Result<Event, Fault> {
        if !first {
            while self.scanner.peek()?.kind == TokenKind::DocumentEnd {
                self.scanner.take()?;
            }
        }
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::StreamEnd {
            self.state = ParserState::End;
            return Ok(event(EventKind::StreamEnd, mark));
        }
        let explicit = matches!(
            token.kind,
            TokenKind::Version { .. } | TokenKind::TagDirective(_) | TokenKind::DocumentStart
        );
        self.directives()?;
        self.states.push(ParserState::DocumentEnd);
        if first && !explicit {
            self.state = ParserState::BlockNode;
            return Ok(event(EventKind::DocumentStart, mark));
        }
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            let problem = "did not find expected <document start>";
            return Err(Fault::parser(problem, token.start));
        }
        self.scanner.take()?;
        self.state = ParserState::Content;
        Ok(event(EventKind::DocumentStart, mark))
    }

    fn directives(&mut self) -> Result<(), Fault> {
        let mut version_seen = false;
        self.handles.clear();
        loop {
            let token = self.scanner.peek()?;
            let mark = token.start;
            match &token.kind {
                TokenKind::Version { major, minor } => {
                    if version_seen {
                        return Err(Fault::parser("found duplicate %YAML directive", mark));
                    }
                    if *major != 1 || !matches!(minor, 1 | 2) {
                        return Err(Fault::parser("found incompatible YAML document", mark));
                    }
                    version_seen = true;
                    self.scanner.take()?;
                }
                TokenKind::TagDirective(_) => {
                    if let TokenKind::TagDirective(parts) = self.scanner.take()?.kind {
                        let TagParts { handle, rest } = *parts;
                        if self.handles.iter().any(|(own, _)| *own == handle) {
                            return Err(Fault::parser("found duplicate %TAG directive", mark));
                        }
                        self.handles.push((handle, rest));
                    }
                }
                _ => break,
            }
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            self.handles.push((handle.to_owned(), prefix.to_owned()));
        }
        Ok(())
    }

    pub(super) fn content(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            TokenKind::Version { .. }
            | TokenKind::TagDirective(_)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let then = self.states.pop().unwrap_or(ParserState::End);
                Ok(self.empty(mark, then))
            }
            _ => self.node(true, false),
        }
    }

    pub(super) fn document_end(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::DocumentEnd {
            self.scanner.take()?;
        }
        self.state = ParserState::Document { first: false };
        Ok(event(EventKind::DocumentEnd, mark))
    }
}
