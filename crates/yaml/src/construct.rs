//! From the graph to the tree: merge keys are flattened, aliases expanded,
//! duplicate keys refused.
//!
//! Invariant: what aliases and merges add is limited by [`ALIASED_NODES_MAX`] and
//! [`MERGED_ENTRIES_MAX`](crate::limits::MERGED_ENTRIES_MAX).

mod merge;
mod shown;

use std::collections::HashSet;
use std::num::NonZeroU32;

use halite_proto::Value;

use crate::compose::{Body, Document};
use crate::error::{ErrorKind, YamlError};
use crate::key::{PythonKey, is_same_key, python_str};
use crate::limits::{ALIASED_NODES_MAX, DEPTH_MAX};
use crate::place::{Source, Span};
use crate::resolve::Tag;
use crate::scalar;
use crate::tree::{Origin, Tree};

const IN_A_MAP: &str = "while constructing a mapping";

/// Most keys of a map that are compared one by one.
const COMPARED_KEYS_MAX: usize = 16;

/// The tree of `document`, of nodes or of values alone.
pub(crate) fn construct<T: Tree>(
    document: Document,
    source: Source<'_>,
) -> Result<T, Box<YamlError>> {
    let Some(root) = document.root else {
        return Ok(T::scalar(Value::Nil, Origin::at(Span::START)));
    };
    let count = document.nodes.len();
    let mut constructor = Constructor {
        document,
        source,
        built: vec![false; count],
        open: vec![false; count],
        depth: 0,
        added: 0,
        merged: 0,
        in_alias: false,
    };
    constructor.node(root)
}

struct Constructor<'t> {
    document: Document,
    source: Source<'t>,
    /// Which nodes have been built once: building one again is expansion.
    built: Vec<bool>,
    /// Which nodes are being built: one of them inside itself never ends.
    open: Vec<bool>,
    /// How many those are.
    depth: usize,
    added: usize,
    merged: usize,
    in_alias: bool,
}

impl Constructor<'_> {
    fn node<T: Tree>(&mut self, index: usize) -> Result<T, Box<YamlError>> {
        let Some(raw) = self.document.nodes.get(index) else {
            return Ok(T::scalar(Value::Nil, Origin::at(Span::START)));
        };
        let span = raw.span;
        let shared = raw
            .aliased
            .then(|| u32::try_from(index + 1).ok().and_then(NonZeroU32::new))
            .flatten();
        let again = self
            .built
            .get_mut(index)
            .is_some_and(|built| std::mem::replace(built, true));
        let in_alias = self.in_alias;
        self.in_alias = in_alias || again;
        if self.in_alias {
            self.added += 1;
            if self.added > ALIASED_NODES_MAX {
                let problem = format!("aliases stand for more than {ALIASED_NODES_MAX} nodes");
                return Err(self.error(ErrorKind::Limit, span, problem));
            }
        }
        let value = self.value(index, Origin { span, shared })?;
        self.in_alias = in_alias;
        Ok(value)
    }

    fn value<T: Tree>(&mut self, index: usize, standing: Origin) -> Result<T, Box<YamlError>> {
        if !self.is_collection(index) {
            let value = self.scalar(index, standing.span)?;
            return Ok(T::scalar(value, standing));
        }
        self.open(index, standing.span)?;
        let value = self.collection(index, standing);
        self.depth -= 1;
        if let Some(open) = self.open.get_mut(index) {
            *open = false;
        }
        value
    }

    /// A list or map. These functions call each other once per level of
    /// nesting: plain loops keep what a level takes of the stack small.
    fn collection<T: Tree>(&mut self, index: usize, standing: Origin) -> Result<T, Box<YamlError>> {
        let tag = self.tag(index);
        if matches!(tag, Tag::List | Tag::Pairs) {
            let pairs = tag == &Tag::Pairs;
            let mut items = Vec::with_capacity(self.items(index).len());
            let mut at = 0;
            while let Some(&item) = self.items(index).get(at) {
                at += 1;
                items.push(if pairs {
                    self.pair(item, standing.span)?
                } else {
                    self.node(item)?
                });
            }
            return Ok(T::list(items, standing));
        }
        let set = tag == &Tag::Set;
        let entries = self.map(index, standing.span)?;
        if set {
            let keys = entries.into_iter().map(|(key, _)| key);
            return Ok(T::list(keys.collect(), standing));
        }
        Ok(T::map(entries, standing))
    }

    /// What is neither a list nor a map to Salt, and what is an error.
    fn scalar(&mut self, index: usize, span: Span) -> Result<Value, Box<YamlError>> {
        // Without aliases nobody asks for a text again.
        if !self.document.has_aliases
            && let Some(raw) = self.document.nodes.get_mut(index)
            && matches!(raw.tag, Tag::Str | Tag::Timestamp)
            && let Body::Scalar(text) = &mut raw.body
        {
            return Ok(Value::Str(std::mem::take(text)));
        }
        let Some(raw) = self.document.nodes.get(index) else {
            return Ok(Value::Nil);
        };
        match (&raw.tag, &raw.body) {
            (tag, Body::Scalar(text)) => scalar::construct(tag, text)
                .map_err(|problem| self.error(ErrorKind::Constructor, span, problem)),
            (Tag::Str, Body::Map(entries)) => {
                let default = entries
                    .iter()
                    .find(|(key, _)| self.tag(*key) == &Tag::Default);
                match default.and_then(|(_, value)| self.key_text(*value)) {
                    Some(text) => Ok(Value::from(text)),
                    None => Err(self.wrong_node(span, "scalar", "mapping")),
                }
            }
            (Tag::Merge | Tag::Default | Tag::Other(_), _) => {
                let problem = scalar::no_constructor(&raw.tag);
                Err(self.error(ErrorKind::Constructor, span, problem))
            }
            (Tag::Map | Tag::OrderedMap | Tag::Set, Body::List(_)) => {
                Err(self.wrong_node(span, "mapping", "sequence"))
            }
            (Tag::List | Tag::Pairs, Body::Map(_)) => {
                Err(self.wrong_node(span, "sequence", "mapping"))
            }
            (_, Body::List(_)) => Err(self.wrong_node(span, "scalar", "sequence")),
            (_, Body::Map(_)) => Err(self.wrong_node(span, "scalar", "mapping")),
        }
    }

    fn items(&self, index: usize) -> &[usize] {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::List(items)) => items,
            _ => &[],
        }
    }

    fn entries(&self, index: usize) -> &[(usize, usize)] {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Map(entries)) => entries,
            _ => &[],
        }
    }

    fn tag(&self, index: usize) -> &Tag {
        self.document
            .nodes
            .get(index)
            .map_or(&Tag::Null, |raw| &raw.tag)
    }

    fn span(&self, index: usize) -> Span {
        self.document
            .nodes
            .get(index)
            .map_or(Span::START, |raw| raw.span)
    }

    fn open(&mut self, index: usize, span: Span) -> Result<(), Box<YamlError>> {
        let open = self.open.get_mut(index);
        if open.is_some_and(|open| std::mem::replace(open, true)) {
            let problem = "found unconstructable recursive node";
            return Err(self.error(ErrorKind::Constructor, span, problem));
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = format!("lists and maps are nested more than {DEPTH_MAX} deep");
            return Err(self.error(ErrorKind::Limit, span, problem));
        }
        Ok(())
    }

    fn map<T: Tree>(&mut self, index: usize, span: Span) -> Result<Vec<(T, T)>, Box<YamlError>> {
        self.flatten(index, 0)?;
        let count = self.entries(index).len();
        let mut seen = HashSet::new();
        let mut out: Vec<(T, T)> = Vec::with_capacity(count);
        let mut at = 0;
        while let Some(&(key_index, value_index)) = self.entries(index).get(at) {
            at += 1;
            let key_span = self.span(key_index);
            let key: T = self.checked_key(key_index, span)?;
            let value = self.node(value_index)?;
            let is_repeated = if count <= COMPARED_KEYS_MAX {
                let mut known = out.iter().filter_map(|(known, _)| known.as_scalar());
                known.any(|known| key.as_scalar().is_some_and(|key| is_same_key(known, key)))
            } else {
                !seen.insert(key.as_scalar().and_then(PythonKey::from_value))
            };
            if is_repeated {
                return Err(self.conflict(key.as_scalar(), key_span, span));
            }
            out.push((key, value));
        }
        Ok(out)
    }

    fn checked_key<T: Tree>(&mut self, index: usize, map: Span) -> Result<T, Box<YamlError>> {
        if !self.is_collection(index) {
            return self.key(index);
        }
        let problem = format!("found unacceptable key {}", self.shown(index));
        Err(self
            .error(ErrorKind::Constructor, self.span(index), problem)
            .while_reading(IN_A_MAP, map))
    }

    fn conflict(&self, key: Option<&Value>, span: Span, map: Span) -> Box<YamlError> {
        let name = key.map(python_str).unwrap_or_default();
        let problem = format!("found conflicting ID '{name}'");
        self.error(ErrorKind::Constructor, span, problem)
            .while_reading(IN_A_MAP, map)
    }

    /// Whether a node is a list or map of a known type; a key is looked at
    /// before what is in it.
    fn is_collection(&self, index: usize) -> bool {
        self.document.nodes.get(index).is_some_and(|raw| {
            matches!(
                (&raw.tag, &raw.body),
                (Tag::List | Tag::Pairs, Body::List(_))
                    | (Tag::Map | Tag::OrderedMap | Tag::Set, Body::Map(_))
            )
        })
    }

    /// A key; `=` is only special as a value.
    fn key<T: Tree>(&mut self, index: usize) -> Result<T, Box<YamlError>> {
        if self.tag(index) == &Tag::Default
            && let Some(raw) = self.document.nodes.get_mut(index)
        {
            raw.tag = Tag::Str;
        }
        self.node(index)
    }

    fn pair<T: Tree>(&mut self, index: usize, list: Span) -> Result<T, Box<YamlError>> {
        let span = self.span(index);
        let problem = match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Map(entries)) => match entries.as_slice() {
                &[(key, value)] => {
                    let pair = vec![self.node(key)?, self.node(value)?];
                    return Ok(T::list(pair, Origin::at(span)));
                }
                _ => format!(
                    "expected a single mapping item, but found {} items",
                    entries.len()
                ),
            },
            Some(Body::List(_)) => "expected a mapping of length 1, but found sequence".to_owned(),
            _ => "expected a mapping of length 1, but found scalar".to_owned(),
        };
        Err(self
            .error(ErrorKind::Constructor, span, problem)
            .while_reading("while constructing pairs", list))
    }

    fn key_text(&self, index: usize) -> Option<&str> {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Scalar(text)) => Some(text),
            _ => None,
        }
    }

    fn wrong_node(&self, span: Span, wanted: &str, found: &str) -> Box<YamlError> {
        let problem = format!("expected a {wanted} node, but found {found}");
        self.error(ErrorKind::Constructor, span, problem)
    }

    fn error(&self, kind: ErrorKind, span: Span, problem: impl Into<String>) -> Box<YamlError> {
        Box::new(self.source.error(kind, span, problem))
    }
}
