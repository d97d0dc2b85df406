//! From the graph to the tree: merge keys are flattened, aliases written out,
//! duplicate keys refused.
//!
//! Invariant: what aliases and merges add is bounded by [`ALIASED_NODES_MAX`]
//! and [`MERGED_ENTRIES_MAX`].

use std::collections::HashSet;
use std::fmt::Write;
use std::num::NonZeroU32;

use halite_proto::Value;

use crate::compose::{Body, Document};
use crate::error::{ErrorKind, YamlError};
use crate::key::{PythonKey, python_repr, python_str};
use crate::limits::{ALIASED_NODES_MAX, DEPTH_MAX, KEY_CHARS_MAX, MERGED_ENTRIES_MAX};
use crate::node::{Kind, Node};
use crate::place::{Source, Span};
use crate::resolve::Tag;
use crate::scalar;

const IN_A_MAP: &str = "while constructing a mapping";

/// The tree of `document`.
pub(crate) fn construct(document: Document, source: Source<'_>) -> Result<Node, YamlError> {
    let Some(root) = document.root else {
        return Ok(Node::scalar(Value::Nil, Span::START));
    };
    let built = vec![false; document.nodes.len()];
    let mut constructor = Constructor {
        document,
        source,
        built,
        open: HashSet::new(),
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
    /// The nodes being built: one of them inside itself never ends.
    open: HashSet<usize>,
    added: usize,
    merged: usize,
    in_alias: bool,
}

impl Constructor<'_> {
    fn node(&mut self, index: usize) -> Result<Node, YamlError> {
        let Some(raw) = self.document.nodes.get(index) else {
            return Ok(Node::scalar(Value::Nil, Span::START));
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
        let value = self.value(index, span)?;
        self.in_alias = in_alias;
        Ok(Node {
            value,
            span,
            shared,
        })
    }

    fn value(&mut self, index: usize, span: Span) -> Result<Kind, YamlError> {
        let Some(raw) = self.document.nodes.get(index) else {
            return Ok(Kind::Scalar(Value::Nil));
        };
        match (&raw.tag, &raw.body) {
            (Tag::List | Tag::Pairs, Body::List(_))
            | (Tag::Map | Tag::OrderedMap | Tag::Set, Body::Map(_)) => {
                self.open(index, span)?;
                let value = self.collection(index, span);
                self.open.remove(&index);
                value
            }
            _ => self.scalar(index, span),
        }
    }

    /// A list or map. These functions call each other once per level of
    /// nesting: plain loops keep what a level takes of the stack small.
    fn collection(&mut self, index: usize, span: Span) -> Result<Kind, YamlError> {
        if matches!(self.tag(index), Tag::List | Tag::Pairs) {
            let pairs = self.tag(index) == &Tag::Pairs;
            let mut items = Vec::new();
            for item in self.items(index) {
                items.push(if pairs {
                    self.pair(item, span)?
                } else {
                    self.node(item)?
                });
            }
            return Ok(Kind::List(items));
        }
        let set = self.tag(index) == &Tag::Set;
        let entries = self.map(index, span)?;
        if set {
            return Ok(Kind::List(
                entries.into_iter().map(|(key, _)| key).collect(),
            ));
        }
        Ok(Kind::Map(entries))
    }

    /// What is neither a list nor a map to Salt, and what is an error.
    fn scalar(&self, index: usize, span: Span) -> Result<Kind, YamlError> {
        let Some(raw) = self.document.nodes.get(index) else {
            return Ok(Kind::Scalar(Value::Nil));
        };
        match (&raw.tag, &raw.body) {
            (tag, Body::Scalar(text)) => match scalar::construct(tag, text) {
                Ok(value) => Ok(Kind::Scalar(value)),
                Err(problem) => Err(self.error(ErrorKind::Constructor, span, problem)),
            },
            (Tag::Str, Body::Map(entries)) => {
                let default = entries
                    .iter()
                    .find(|(key, _)| self.tag(*key) == &Tag::Default);
                match default.and_then(|(_, value)| self.key_text(*value)) {
                    Some(text) => Ok(Kind::Scalar(Value::from(text))),
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

    fn items(&self, index: usize) -> Vec<usize> {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::List(items)) => items.clone(),
            _ => Vec::new(),
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

    fn open(&mut self, index: usize, span: Span) -> Result<(), YamlError> {
        if !self.open.insert(index) {
            let problem = "found unconstructable recursive node";
            return Err(self.error(ErrorKind::Constructor, span, problem));
        }
        if self.open.len() > DEPTH_MAX {
            let problem = format!("lists and maps are nested more than {DEPTH_MAX} deep");
            return Err(self.error(ErrorKind::Limit, span, problem));
        }
        Ok(())
    }

    fn map(&mut self, index: usize, span: Span) -> Result<Vec<(Node, Node)>, YamlError> {
        self.flatten(index, 0)?;
        let entries = match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Map(entries)) => entries.clone(),
            _ => Vec::new(),
        };
        let mut seen = HashSet::with_capacity(entries.len());
        let mut out = Vec::with_capacity(entries.len());
        for (key_index, value_index) in entries {
            let key = self.checked_key(key_index, span)?;
            let value = self.node(value_index)?;
            if !seen.insert(key.as_scalar().and_then(PythonKey::of)) {
                return Err(self.conflict(&key, span));
            }
            out.push((key, value));
        }
        Ok(out)
    }

    fn checked_key(&mut self, index: usize, map: Span) -> Result<Node, YamlError> {
        if !self.is_collection(index) {
            let key = self.key(index)?;
            if key.as_scalar().and_then(PythonKey::of).is_some() {
                return Ok(key);
            }
        }
        let problem = format!("found unacceptable key {}", self.shown(index));
        Err(self
            .error(ErrorKind::Constructor, self.span(index), problem)
            .while_reading(IN_A_MAP, map))
    }

    fn conflict(&self, key: &Node, map: Span) -> YamlError {
        let name = key.as_scalar().map(python_str).unwrap_or_default();
        let problem = format!("found conflicting ID '{name}'");
        self.error(ErrorKind::Constructor, key.span, problem)
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
    fn key(&mut self, index: usize) -> Result<Node, YamlError> {
        if self.tag(index) == &Tag::Default
            && let Some(raw) = self.document.nodes.get_mut(index)
        {
            raw.tag = Tag::Str;
        }
        self.node(index)
    }

    fn pair(&mut self, index: usize, list: Span) -> Result<Node, YamlError> {
        let span = self.span(index);
        let problem = match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Map(entries)) => match entries.as_slice() {
                &[(key, value)] => {
                    let value = Kind::List(vec![self.node(key)?, self.node(value)?]);
                    return Ok(Node {
                        value,
                        span,
                        shared: None,
                    });
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

    /// Replaces the `<<` entries of a map by what they stand for, in front,
    /// without the keys that the map has itself. Once done it stays done.
    fn flatten(&mut self, index: usize, depth: usize) -> Result<(), YamlError> {
        let span = self.span(index);
        let Some(Body::Map(entries)) = self.document.nodes.get(index).map(|raw| &raw.body) else {
            return Ok(());
        };
        if !entries.iter().any(|(key, _)| self.tag(*key) == &Tag::Merge) {
            return Ok(());
        }
        if depth > DEPTH_MAX {
            let problem = "merge keys are nested too deep, or merge a map into itself";
            return Err(self.error(ErrorKind::Limit, span, problem));
        }
        let (merges, own): (Vec<_>, Vec<_>) = entries
            .iter()
            .copied()
            .partition(|(key, _)| self.tag(*key) == &Tag::Merge);
        let mut merged = Vec::new();
        for (_, from) in merges {
            for map in self.merged_maps(from, span)? {
                self.flatten(map, depth + 1)?;
                if let Some(Body::Map(entries)) = self.document.nodes.get(map).map(|raw| &raw.body)
                {
                    merged.extend_from_slice(entries);
                    self.merged += entries.len() + 1;
                }
                if self.merged > MERGED_ENTRIES_MAX {
                    let problem = format!("merge keys copy more than {MERGED_ENTRIES_MAX} entries");
                    return Err(self.error(ErrorKind::Limit, span, problem));
                }
            }
        }
        let kept = {
            let taken: HashSet<&str> = own
                .iter()
                .filter_map(|(key, _)| self.key_text(*key))
                .collect();
            merged.retain(|(key, _)| !self.key_text(*key).is_some_and(|key| taken.contains(key)));
            merged.into_iter().chain(own).collect()
        };
        if let Some(raw) = self.document.nodes.get_mut(index) {
            raw.body = Body::Map(kept);
        }
        Ok(())
    }

    /// The maps behind one `<<`, the last one first, as PyYAML orders them.
    fn merged_maps(&self, from: usize, span: Span) -> Result<Vec<usize>, YamlError> {
        let problem = |index: usize, wanted: &str, found: &str| {
            let problem = format!("expected {wanted} for merging, but found {found}");
            self.error(ErrorKind::Constructor, self.span(index), problem)
                .while_reading(IN_A_MAP, span)
        };
        match self.document.nodes.get(from).map(|raw| &raw.body) {
            Some(Body::Map(_)) => Ok(vec![from]),
            Some(Body::List(items)) => {
                for &item in items {
                    let found = match self.document.nodes.get(item).map(|raw| &raw.body) {
                        Some(Body::Map(_)) => continue,
                        Some(Body::List(_)) => "sequence",
                        _ => "scalar",
                    };
                    return Err(problem(item, "a mapping", found));
                }
                Ok(items.iter().rev().copied().collect())
            }
            _ => Err(problem(from, "a mapping or list of mappings", "scalar")),
        }
    }

    fn key_text(&self, index: usize) -> Option<&str> {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Scalar(text)) => Some(text),
            _ => None,
        }
    }

    /// A list or map that is a key, as PyYAML prints its nodes.
    fn shown(&self, index: usize) -> String {
        let mut out = String::new();
        self.show_body(&mut out, index);
        if out.chars().nth(KEY_CHARS_MAX).is_some() {
            out = out.chars().take(KEY_CHARS_MAX).collect();
            out.push_str("...");
        }
        out
    }

    fn show_body(&self, out: &mut String, index: usize) {
        match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::Scalar(text)) => {
                out.push_str(&python_repr(text));
            }
            Some(Body::List(items)) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at == 0 { "" } else { ", " });
                    self.show_node(out, *item);
                }
                out.push(']');
            }
            Some(Body::Map(entries)) => {
                out.push('[');
                for (at, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if at == 0 { "(" } else { ", (" });
                    self.show_node(out, *key);
                    out.push_str(", ");
                    self.show_node(out, *value);
                    out.push(')');
                }
                out.push(']');
            }
            None => {}
        }
    }

    fn show_node(&self, out: &mut String, index: usize) {
        if out.len() > KEY_CHARS_MAX * 4 {
            return;
        }
        let kind = match self.document.nodes.get(index).map(|raw| &raw.body) {
            Some(Body::List(_)) => "SequenceNode",
            Some(Body::Map(_)) => "MappingNode",
            _ => "ScalarNode",
        };
        let _ = write!(out, "{kind}(tag='{}', value=", self.tag(index).name());
        self.show_body(out, index);
        out.push(')');
    }

    fn wrong_node(&self, span: Span, wanted: &str, found: &str) -> YamlError {
        let problem = format!("expected a {wanted} node, but found {found}");
        self.error(ErrorKind::Constructor, span, problem)
    }

    fn error(&self, kind: ErrorKind, span: Span, problem: impl Into<String>) -> YamlError {
        self.source.error(kind, span, problem)
    }
}
