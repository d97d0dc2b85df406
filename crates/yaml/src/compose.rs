//! From events to a graph of nodes: anchors are resolved, types are resolved from
//! spelling, nothing is merged, expanded or checked for duplicates yet.
//!
//! Invariant: a node's children have smaller or larger indices but always
//! exist, and an alias is nothing but the index of its anchor's node.

use std::collections::HashMap;

use crate::error::{ErrorKind, YamlError};
use crate::limits::DEPTH_MAX;
use crate::parse::{Event, EventKind, Named, Parser, Properties};
use crate::place::{Source, Span};
use crate::resolve::{self, Tag};

/// Bytes of text for a node, in states as people write them, and most nodes that
/// room is made for before there are any.
const NODE_BYTES: usize = 32;
const NODES_AHEAD_MAX: usize = 1024;

/// A document as a graph.
pub(crate) struct Document {
    pub(crate) nodes: Vec<RawNode>,
    /// The outermost node; none if the text is empty.
    pub(crate) root: Option<usize>,
    /// Whether there are aliases: without, each node is built at most once.
    pub(crate) has_aliases: bool,
}

/// A node of the graph.
pub(crate) struct RawNode {
    pub(crate) tag: Tag,
    pub(crate) body: Body,
    pub(crate) span: Span,
    /// Whether an alias points here.
    pub(crate) aliased: bool,
}

/// EventKind a node holds.
pub(crate) enum Body {
    Scalar(String),
    List(Vec<usize>),
    Map(Vec<(usize, usize)>),
}

/// Reads the only document of `source`.
pub(crate) fn compose(source: Source<'_>) -> Result<Document, Box<YamlError>> {
    check_characters(source)?;
    let mut composer = Composer {
        parser: Parser::new(source.text),
        source,
        nodes: Vec::with_capacity((source.text.len() / NODE_BYTES).min(NODES_AHEAD_MAX)),
        anchors: HashMap::new(),
        has_aliases: false,
        items: Vec::new(),
        entries: Vec::new(),
        depth: 0,
    };
    let first = composer.next()?;
    if matches!(first.what, EventKind::StreamEnd) {
        return Ok(Document {
            nodes: Vec::new(),
            root: None,
            has_aliases: false,
        });
    }
    let event = composer.next()?;
    let start = event.span;
    let root = composer.node(event)?;
    // The end of the document, and then of the stream.
    composer.next()?;
    let end = composer.next()?;
    if !matches!(end.what, EventKind::StreamEnd) {
        let problem = "but found another document";
        let error = Box::new(source.error(ErrorKind::Composer, end.span, problem));
        let context = "expected a single document in the stream";
        return Err(error.while_reading(context, start));
    }
    Ok(Document {
        nodes: composer.nodes,
        root: Some(root),
        has_aliases: composer.has_aliases,
    })
}

struct Composer<'t> {
    parser: Parser<'t>,
    source: Source<'t>,
    nodes: Vec<RawNode>,
    anchors: HashMap<String, usize>,
    has_aliases: bool,
    /// The parts of the open collections so far.
    items: Vec<usize>,
    entries: Vec<(usize, usize)>,
    depth: usize,
}

impl Composer<'_> {
    fn next(&mut self) -> Result<Event, Box<YamlError>> {
        let event = self.parser.next();
        event.map_err(|fault| fault.in_source(self.source))
    }

    fn node(&mut self, event: Event) -> Result<usize, Box<YamlError>> {
        let span = event.span;
        match event.what {
            EventKind::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(&index) => {
                    self.has_aliases = true;
                    if let Some(node) = self.nodes.get_mut(index) {
                        node.aliased = true;
                    }
                    Ok(index)
                }
                None => {
                    let problem = "found undefined alias";
                    Err(self.error(ErrorKind::Composer, span, problem))
                }
            },
            EventKind::Scalar {
                properties,
                value,
                plain,
            } => {
                let Named { anchor, tag } = named(properties);
                let tag = match explicit(tag) {
                    Some(tag) => tag,
                    None if plain => resolve::plain(&value),
                    None => Tag::Str,
                };
                self.add(anchor, tag, Body::Scalar(value), span)
            }
            EventKind::ListStart(properties) => {
                let Named { anchor, tag } = named(properties);
                let tag = explicit(tag).unwrap_or(Tag::List);
                let index = self.add(anchor, tag, Body::List(Vec::new()), span)?;
                self.enter(span)?;
                let first = self.items.len();
                while let Some(event) = self.child()? {
                    let item = self.node(event)?;
                    self.items.push(item);
                }
                let items = self.items.split_off(first);
                self.fill(index, Body::List(items));
                Ok(index)
            }
            EventKind::MapStart(properties) => {
                let Named { anchor, tag } = named(properties);
                let tag = explicit(tag).unwrap_or(Tag::Map);
                let index = self.add(anchor, tag, Body::Map(Vec::new()), span)?;
                self.enter(span)?;
                let first = self.entries.len();
                while let Some(event) = self.child()? {
                    let key = self.node(event)?;
                    let event = self.next()?;
                    let value = self.node(event)?;
                    self.entries.push((key, value));
                }
                let entries = self.entries.split_off(first);
                self.fill(index, Body::Map(entries));
                Ok(index)
            }
            EventKind::DocumentStart
            | EventKind::DocumentEnd
            | EventKind::StreamEnd
            | EventKind::CollectionEnd => {
                let problem = "the parser lost its way";
                Err(self.error(ErrorKind::Parser, span, problem))
            }
        }
    }

    fn enter(&mut self, span: Span) -> Result<(), Box<YamlError>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = format!("lists and maps are nested more than {DEPTH_MAX} deep");
            return Err(self.error(ErrorKind::Limit, span, problem));
        }
        Ok(())
    }

    fn error(&self, kind: ErrorKind, span: Span, problem: impl Into<String>) -> Box<YamlError> {
        Box::new(self.source.error(kind, span, problem))
    }

    /// The event that starts the next child, none at the collection's end.
    fn child(&mut self) -> Result<Option<Event>, Box<YamlError>> {
        let event = self.next()?;
        if matches!(event.what, EventKind::CollectionEnd) {
            self.depth -= 1;
            return Ok(None);
        }
        Ok(Some(event))
    }

    fn add(
        &mut self,
        anchor: Option<String>,
        tag: Tag,
        body: Body,
        span: Span,
    ) -> Result<usize, Box<YamlError>> {
        let index = self.nodes.len();
        self.nodes.push(RawNode {
            tag,
            body,
            span,
            aliased: false,
        });
        let Some(anchor) = anchor else {
            return Ok(index);
        };
        if let Some(first) = self.anchors.insert(anchor, index) {
            let first = self.nodes.get(first).map_or(span, |node| node.span);
            let error = self.error(ErrorKind::Composer, span, "second occurrence");
            let context = "found duplicate anchor; first occurrence";
            return Err(error.while_reading(context, first));
        }
        Ok(index)
    }

    fn fill(&mut self, index: usize, body: Body) {
        if let Some(node) = self.nodes.get_mut(index) {
            node.body = body;
        }
    }
}

/// Refuses the characters that YAML does not allow.
fn check_characters(source: Source<'_>) -> Result<(), Box<YamlError>> {
    // A block at a time, which compiles to a few instructions.
    const BLOCK: usize = 64;
    let is_usual = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let mut blocks = source.text.as_bytes().chunks(BLOCK);
    if blocks.all(|block| block.iter().fold(true, |so_far, b| so_far & is_usual(b))) {
        return Ok(());
    }
    let allowed = |c: char| {
        matches!(c,
            '\t' | '\n' | '\r' | ' '..='~' | '\u{85}'
            | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
    };
    let Some((at, bad)) = source.text.char_indices().find(|(_, c)| !allowed(*c)) else {
        return Ok(());
    };
    let before = source.text.get(..at).unwrap_or_default();
    let span = before.chars().fold(Span::START, Span::after);
    let code = u32::from(bad);
    let problem =
        format!("unacceptable character #x{code:04x}: control characters are not allowed");
    Err(Box::new(source.error(ErrorKind::Reader, span, problem)))
}

fn named(properties: Properties) -> Named {
    properties.map_or_else(Named::default, |named| *named)
}

/// The type that a tag in the text names; `!` leaves it to the spelling.
fn explicit(tag: Option<String>) -> Option<Tag> {
    match tag {
        None => None,
        Some(tag) if tag.is_empty() || tag == "!" => None,
        Some(tag) => Some(Tag::named(tag)),
    }
}
