//! Finds the chunks that a reference matches.
//!
//! Invariant: a table is made when the first reference needs it, and stays valid
//! since names, ids and SLS of chunks do not change while requisites are added.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use halite_proto::Value;
use halite_target::glob;
use indexmap::{IndexMap, IndexSet};

use super::Reach;
use crate::chunk::Chunk;

/// Nodes under a text, which may be in it twice.
type Table = IndexMap<String, Vec<usize>>;

/// All chunks, and the node of each.
pub(super) struct Nodes<'c> {
    pub(super) chunks: &'c [Chunk],
    pub(super) own: &'c [usize],
}

impl<'c> Nodes<'c> {
    fn iter(&self) -> impl Iterator<Item = (&'c Chunk, usize)> {
        self.chunks.iter().zip(self.own.iter().copied())
    }
}

/// The tables: tags, names and ids of each module, and SLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    tags: HashMap<String, usize>,
    names: HashMap<String, Table>,
    sls: Option<Box<Sls>>,
}

/// The states of each SLS, and those of the SLS that it includes.
#[derive(Clone, Debug, Default)]
struct Sls {
    own: Table,
    included: Table,
}

impl Lookup {
    /// The node that has `tag`.
    pub(super) fn node_of_tag(&self, tag: &str) -> Option<usize> {
        self.tags.get(tag).copied()
    }

    /// Gives `node` its tag.
    pub(super) fn add_tag(&mut self, tag: String, node: usize) {
        self.tags.insert(tag, node);
    }

    /// The nodes that `{module: value}` means. Nothing if there is no such
    /// state; a pattern for SLS may mean none.
    pub(super) fn find(
        &mut self,
        module: &str,
        value: &str,
        reach: Reach,
        all: &Nodes<'_>,
    ) -> Option<Vec<usize>> {
        if module == "sls" {
            let tables = self.sls.get_or_insert_with(|| Box::new(Sls::new(all)));
            return tables.find(value, reach);
        }
        let table = match self.names.entry(module.to_owned()) {
            Entry::Occupied(table) => table.into_mut(),
            Entry::Vacant(place) => place.insert(names(module, all)),
        };
        Some(under(table, value)?.into_iter().collect())
    }
}

impl Sls {
    fn new(all: &Nodes<'_>) -> Self {
        let mut tables = Self::default();
        for (chunk, node) in all.iter() {
            if !chunk.sls().is_empty() {
                put(&mut tables.own, chunk.sls(), node);
            }
            let from = chunk.get("__sls_included_from__");
            let from = from.and_then(Value::as_list).into_iter().flatten();
            for sls in from.filter_map(Value::as_str) {
                put(&mut tables.included, sls, node);
            }
        }
        tables
    }

    fn find(&self, value: &str, reach: Reach) -> Option<Vec<usize>> {
        let (own, included) = (under(&self.own, value), under(&self.included, value));
        // A pattern may mean nothing, and so may an SLS that only includes.
        if own.is_none() && included.is_none() && !is_pattern(value) {
            return None;
        }
        let mut found = own.unwrap_or_default();
        if reach == Reach::Included {
            found.extend(included.unwrap_or_default());
            found.sort_unstable();
        }
        Some(found.into_iter().collect())
    }
}

/// The names and ids of the states of a module; `id` stands for all modules.
fn names(module: &str, all: &Nodes<'_>) -> Table {
    let mut table = Table::new();
    for (chunk, node) in all.iter() {
        if module == "id" || chunk.state() == module {
            match chunk.name() {
                Value::Str(name) => put(&mut table, name, node),
                _ => put(&mut table, &chunk.name_text(), node),
            }
            put(&mut table, chunk.id(), node);
        }
    }
    table
}

fn is_pattern(value: &str) -> bool {
    value.contains(['*', '?', '[', ']'])
}

/// The nodes under `value`, or under all that match it if it is a pattern;
/// nothing if there is no such text.
fn under(table: &Table, value: &str) -> Option<IndexSet<usize>> {
    if !is_pattern(value) {
        return Some(table.get(value)?.iter().copied().collect());
    }
    let pattern = glob::Glob::new(value);
    let matching = table.iter().filter(|(name, _)| pattern.matches(name));
    let mut nodes = matching.map(|(_, nodes)| nodes).peekable();
    nodes.peek()?;
    Some(nodes.flatten().copied().collect())
}

fn put(table: &mut Table, text: &str, node: usize) {
    match table.get_mut(text) {
        Some(nodes) if nodes.last() == Some(&node) => {}
        Some(nodes) => nodes.push(node),
        None => {
            table.insert(text.to_owned(), vec![node]);
        }
    }
}
