//! From tokens to events: a state machine with a stack, as in libyaml, so that
//! depth costs memory and not stack.

mod block;
mod document;
mod flow;
mod node;

use crate::place::Span;
use crate::scan::Scanner;
use crate::scan::cursor::Mark;
use crate::scan::token::Fault;

/// What the text says next, and where it starts.
pub(crate) struct Event {
    pub(crate) what: EventKind,
    pub(crate) span: Span,
}

/// The kinds of event that make a document.
pub(crate) enum EventKind {
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
enum ParserState {
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
    state: ParserState,
    states: Vec<ParserState>,
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
            state: ParserState::Document { first: true },
            states: Vec::new(),
            starts: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// The next event. Behind the end of the stream there are only more ends.
    pub(crate) fn next(&mut self) -> Result<Event, Fault> {
        match self.state {
            ParserState::Document { first } => self.document(first),
            ParserState::Content => self.content(),
            ParserState::DocumentEnd => self.document_end(),
            ParserState::BlockNode => self.node(true, false),
            ParserState::BlockList { first } => self.block_list(first),
            ParserState::IndentlessList => self.indentless_list(),
            ParserState::BlockKey { first } => self.block_key(first),
            ParserState::BlockValue => self.block_value(),
            ParserState::FlowList { first } => self.flow_list(first),
            ParserState::PairKey => self.pair_key(),
            ParserState::PairValue => self.pair_value(),
            ParserState::PairEnd => {
                self.state = ParserState::FlowList { first: false };
                let mark = self.scanner.peek()?.start;
                Ok(event(EventKind::CollectionEnd, mark))
            }
            ParserState::FlowKey { first } => self.flow_key(first),
            ParserState::FlowValue => self.flow_value(),
            ParserState::FlowNoValue => {
                let mark = self.scanner.peek()?.start;
                Ok(self.empty(mark, ParserState::FlowKey { first: false }))
            }
            ParserState::End => {
                let mark = self.scanner.peek()?.start;
                Ok(event(EventKind::StreamEnd, mark))
            }
        }
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(ParserState::End);
    }

    /// A null that is not written, before `then`.
    fn empty(&mut self, mark: Mark, then: ParserState) -> Event {
        self.state = then;
        let what = EventKind::Scalar {
            properties: None,
            value: String::new(),
            plain: true,
        };
        event(what, mark)
    }

    /// A node, and after it `then`.
    fn node_then(
        &mut self,
        then: ParserState,
        block: bool,
        indentless: bool,
    ) -> Result<Event, Fault> {
        self.states.push(then);
        self.node(block, indentless)
    }

    /// The end of a collection, with its token.
    fn collection_end(&mut self) -> Result<Event, Fault> {
        let mark = self.scanner.take()?.start;
        self.pop_state();
        self.starts.pop();
        Ok(event(EventKind::CollectionEnd, mark))
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
}

fn event(what: EventKind, mark: Mark) -> Event {
    let span = mark.span();
    Event { what, span }
}
