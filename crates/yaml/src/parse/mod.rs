//! From tokens to events: a machine with a stack, as in libyaml, so that depth
//! costs memory and not stack.

mod flow;

use crate::place::Span;
use crate::scan::Scanner;
use crate::scan::cursor::Mark;
use crate::scan::token::{Fault, TagParts, Token, TokenKind};

/// What the text says next, and where it starts.
pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) span: Span,
}

/// The kinds of event that make a document.
pub(crate) enum What {
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    Alias(String),
    Scalar {
        properties: Properties,
        value: String,
        /// Whether its kind follows from how it looks: it is not quoted.
        plain: bool,
    },
    ListStart(Properties),
    MapStart(Properties),
    CollectionEnd,
}

/// What stands before a node. Nearly always nothing.
pub(crate) type Properties = Option<Box<Named>>;

/// The names that a node may have.
#[derive(Default)]
pub(crate) struct Named {
    pub(crate) anchor: Option<String>,
    pub(crate) tag: Option<String>,
}

/// What is expected next.
#[derive(Clone, Copy)]
enum State {
    /// A document, whose `---` may be left out if it is the first.
    Document {
        first: bool,
    },
    /// What stands behind `---`.
    Content,
    DocumentEnd,
    BlockNode,
    BlockList {
        first: bool,
    },
    /// A list that is not further in than the map it is a value of.
    IndentlessList,
    BlockKey {
        first: bool,
    },
    BlockValue,
    FlowList {
        first: bool,
    },
    /// The key of a one-entry map inside a flow list.
    PairKey,
    PairValue,
    PairEnd,
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// The value of a key without `:`.
    FlowNoValue,
    End,
}

/// Turns a text into events.
pub(crate) struct Parser<'t> {
    scanner: Scanner<'t>,
    state: State,
    states: Vec<State>,
    /// Where the open collections started.
    starts: Vec<Mark>,
    /// Handles of tags and what they stand for.
    handles: Vec<(String, String)>,
}

impl<'t> Parser<'t> {
    /// Starts at the first character of `text`.
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            scanner: Scanner::new(text),
            state: State::Document { first: true },
            states: Vec::new(),
            starts: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// The next event. Behind the end of the stream there are only more ends.
    pub(crate) fn next(&mut self) -> Result<Event, Fault> {
        match self.state {
            State::Document { first } => self.document(first),
            State::Content => self.content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockList { first } => self.block_list(first),
            State::IndentlessList => self.indentless_list(),
            State::BlockKey { first } => self.block_key(first),
            State::BlockValue => self.block_value(),
            State::FlowList { first } => self.flow_list(first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => {
                self.state = State::FlowList { first: false };
                let mark = self.scanner.peek()?.start;
                Ok(event(What::CollectionEnd, mark))
            }
            State::FlowKey { first } => self.flow_key(first),
            State::FlowValue => self.flow_value(),
            State::FlowNoValue => {
                let mark = self.scanner.peek()?.start;
                Ok(self.empty(mark, State::FlowKey { first: false }))
            }
            State::End => {
                let mark = self.scanner.peek()?.start;
                Ok(event(What::StreamEnd, mark))
            }
        }
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// A null that is not written, before `then`.
    fn empty(&mut self, mark: Mark, then: State) -> Event {
        self.state = then;
        let what = What::Scalar {
            properties: None,
            value: String::new(),
            plain: true,
        };
        event(what, mark)
    }

    /// A node, and after it `then`.
    fn node_then(&mut self, then: State, block: bool, indentless: bool) -> Result<Event, Fault> {
        self.states.push(then);
        self.node(block, indentless)
    }

    /// The end of a collection, with its token.
    fn collection_end(&mut self) -> Result<Event, Fault> {
        let mark = self.scanner.take()?.start;
        self.pop_state();
        self.starts.pop();
        Ok(event(What::CollectionEnd, mark))
    }

    /// Takes the token that opens a collection.
    fn open(&mut self, first: bool) -> Result<(), Fault> {
        if first {
            let mark = self.scanner.take()?.start;
            self.starts.push(mark);
        }
        Ok(())
    }

    fn missing<T>(&mut self, context: &'static str, problem: &'static str) -> Result<T, Fault> {
        let mark = self.scanner.peek()?.start;
        let start = self.starts.pop().unwrap_or(mark);
        Err(Fault::parser(problem, mark).while_reading(context, start))
    }

    fn document(&mut self, first: bool) -> Result<Event, Fault> {
        if !first {
            while self.scanner.peek()?.kind == TokenKind::DocumentEnd {
                self.scanner.take()?;
            }
        }
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::StreamEnd {
            self.state = State::End;
            return Ok(event(What::StreamEnd, mark));
        }
        let explicit = matches!(
            token.kind,
            TokenKind::Version { .. } | TokenKind::TagDirective(_) | TokenKind::DocumentStart
        );
        self.directives()?;
        self.states.push(State::DocumentEnd);
        if first && !explicit {
            self.state = State::BlockNode;
            return Ok(event(What::DocumentStart, mark));
        }
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            let problem = "did not find expected <document start>";
            return Err(Fault::parser(problem, token.start));
        }
        self.scanner.take()?;
        self.state = State::Content;
        Ok(event(What::DocumentStart, mark))
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

    fn content(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            TokenKind::Version { .. }
            | TokenKind::TagDirective(_)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let then = self.states.pop().unwrap_or(State::End);
                Ok(self.empty(mark, then))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::DocumentEnd {
            self.scanner.take()?;
        }
        self.state = State::Document { first: false };
        Ok(event(What::DocumentEnd, mark))
    }

    fn node(&mut self, block: bool, indentless: bool) -> Result<Event, Fault> {
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
                        return Ok(event(What::Alias(name), token.start));
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
                self.state = State::IndentlessList;
                Ok(event(What::ListStart(properties), start))
            }
            TokenKind::Scalar { .. } => {
                let Token { kind, .. } = self.scanner.take()?;
                self.pop_state();
                let TokenKind::Scalar { text, plain } = kind else {
                    return Err(Fault::parser("did not find expected node content", start));
                };
                let tag = tag_of(&properties);
                let untagged = tag.is_none_or(|tag| tag == "!");
                let what = What::Scalar {
                    plain: untagged && (plain || tag.is_some()),
                    properties,
                    value: text,
                };
                Ok(event(what, start))
            }
            TokenKind::FlowListStart => {
                self.state = State::FlowList { first: true };
                Ok(event(What::ListStart(properties), start))
            }
            TokenKind::FlowMapStart => {
                self.state = State::FlowKey { first: true };
                Ok(event(What::MapStart(properties), start))
            }
            TokenKind::BlockListStart if block => {
                self.state = State::BlockList { first: true };
                Ok(event(What::ListStart(properties), start))
            }
            TokenKind::BlockMapStart if block => {
                self.state = State::BlockKey { first: true };
                Ok(event(What::MapStart(properties), start))
            }
            _ if properties.is_some() => {
                self.pop_state();
                let what = What::Scalar {
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

    fn block_list(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry => {
                let mark = self.scanner.take()?.end;
                let then = State::BlockList { first: false };
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

    fn indentless_list(&mut self) -> Result<Event, Fault> {
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::BlockEntry {
            let mark = token.start;
            self.pop_state();
            return Ok(event(What::CollectionEnd, mark));
        }
        let mark = self.scanner.take()?.end;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(mark, State::IndentlessList))
            }
            _ => self.node_then(State::IndentlessList, true, false),
        }
    }

    fn block_key(&mut self, first: bool) -> Result<Event, Fault> {
        self.open(first)?;
        match self.scanner.peek()?.kind {
            TokenKind::Key => {
                let mark = self.scanner.take()?.end;
                self.block_part(mark, State::BlockValue)
            }
            TokenKind::BlockEnd => self.collection_end(),
            _ => self.missing("while parsing a block mapping", "did not find expected key"),
        }
    }

    fn block_value(&mut self) -> Result<Event, Fault> {
        let then = State::BlockKey { first: false };
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::Value {
            let mark = token.start;
            return Ok(self.empty(mark, then));
        }
        let mark = self.scanner.take()?.end;
        self.block_part(mark, then)
    }

    /// The key or value behind its indicator, which ended at `mark`.
    fn block_part(&mut self, mark: Mark, then: State) -> Result<Event, Fault> {
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => Ok(self.empty(mark, then)),
            _ => self.node_then(then, true, true),
        }
    }
}

fn tag_of(properties: &Properties) -> Option<&str> {
    properties.as_ref()?.tag.as_deref()
}

fn event(what: What, mark: Mark) -> Event {
    let span = mark.span();
    Event { what, span }
}
