//! A node: its anchor and tag, and the content after them.

use super::{Event, EventKind, Named, Parser, ParserState, Properties, event};
use crate::scan::cursor::Mark;
use crate::scan::token::{Fault, TagParts, Token, TokenKind};

impl Parser<'_> {
    pub(super) fn node(&mut self, block: bool, indentless: bool) -> Result<Event, Fault> {
        let mut anchor = None;
        let mut tag = None;
        let mut start = self.scanner.peek()?.start;
        let mut first = None;
        // An anchor and a tag, in either order.
        for _ in 0..2 {
            match self.scanner.peek()?.kind {
                TokenKind::Anchor(_) if anchor.is_none() => {}
                TokenKind::Tag(_) if tag.is_none() => {}
                TokenKind::Alias(_) if first.is_none() => {
                    self.pop_state();
                    let token = self.scanner.take()?;
                    if let TokenKind::Alias(name) = token.kind {
                        return Ok(event(EventKind::Alias(name), token.start));
                    }
                }
                _ => break,
            }
            let token = self.scanner.take()?;
            start = *first.get_or_insert(token.start);
            match token.kind {
                TokenKind::Anchor(name) => anchor = Some(name),
                TokenKind::Tag(parts) => tag = Some((parts, token.start)),
                _ => {}
            }
        }
        let tag = match tag {
            Some((parts, mark)) => Some(self.full_tag(*parts, start, mark)?),
            None => None,
        };
        let is_named = anchor.is_some() || tag.is_some();
        let properties = is_named.then(|| Box::new(Named { anchor, tag }));
        self.body(properties, start, block, indentless)
    }

    fn body(
        &mut self,
        properties: Properties,
        start: Mark,
        block: bool,
        indentless: bool,
    ) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        match &token.kind {
            TokenKind::BlockEntry if indentless => {
                self.state = ParserState::IndentlessList;
                Ok(event(EventKind::ListStart(properties), start))
            }
            TokenKind::Scalar { .. } => {
                let Token { kind, .. } = self.scanner.take()?;
                self.pop_state();
                let TokenKind::Scalar { text, plain } = kind else {
                    return Err(Fault::parser("did not find expected node content", start));
                };
                let tag = tag_of(&properties);
                let untagged = tag.is_none_or(|tag| tag == "!");
                let what = EventKind::Scalar {
                    plain: untagged && (plain || tag.is_some()),
                    properties,
                    value: text,
                };
                Ok(event(what, start))
            }
            TokenKind::FlowListStart => {
                self.state = ParserState::FlowList { first: true };
                Ok(event(EventKind::ListStart(properties), start))
            }
            TokenKind::FlowMapStart => {
                self.state = ParserState::FlowKey { first: true };
                Ok(event(EventKind::MapStart(properties), start))
            }
            TokenKind::BlockListStart if block => {
                self.state = ParserState::BlockList { first: true };
                Ok(event(EventKind::ListStart(properties), start))
            }
            TokenKind::BlockMapStart if block => {
                self.state = ParserState::BlockKey { first: true };
                Ok(event(EventKind::MapStart(properties), start))
            }
            _ if properties.is_some() => {
                self.pop_state();
                let what = EventKind::Scalar {
                    plain: tag_of(&properties).is_none_or(str::is_empty),
                    properties,
                    value: String::new(),
                };
                Ok(event(what, start))
            }
            _ => {
                let context = if block {
                    "while parsing a block node"
                } else {
                    "while parsing a flow node"
                };
                let problem = "did not find expected node content";
                Err(Fault::parser(problem, token.start).while_reading(context, start))
            }
        }
    }

    fn full_tag(&self, tag: TagParts, start: Mark, mark: Mark) -> Result<String, Fault> {
        let TagParts { handle, rest } = tag;
        if handle.is_empty() {
            return Ok(rest);
        }
        match self.handles.iter().find(|(own, _)| *own == handle) {
            Some((_, prefix)) => Ok(format!("{prefix}{rest}")),
            None => {
                let context = "while parsing a node";
                Err(Fault::parser("found undefined tag handle", mark).while_reading(context, start))
            }
        }
    }
}

fn tag_of(properties: &Properties) -> Option<&str> {
    properties.as_ref()?.tag.as_deref()
}
