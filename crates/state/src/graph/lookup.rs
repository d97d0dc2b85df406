//! Finding the chunks that a reference means.

use std::collections::HashMap;

use halite_proto::Value;
use halite_target::glob;
use indexmap::{IndexMap, IndexSet};

use super::Reach;
use crate::chunk::Chunk;

type Nodes = IndexSet<usize>;

/// The tables: tags, names and ids of each module, and SLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    tags: HashMap<String, usize>,
    names: HashMap<String, IndexMap<String, Nodes>>,
    /// The states of each SLS, and those of the SLS that it includes.
    sls: IndexMap<String, Nodes>,
    included: IndexMap<String, Nodes>,
}

impl Lookup {
    /// The node that has `tag`.
    pub(super) fn node_of_tag(&self, tag: &str) -> Option<usize> {
        self.tags.get(tag).copied()
    }

    /// Adds a chunk's node to all tables.
    pub(super) fn add(&mut self, node: usize, chunk: &Chunk) {
        self.tags.insert(chunk.tag(), node);
        let name = chunk.name_text();
        for module in [chunk.state(), "id"] {
            let names = self.names.entry(module.to_owned()).or_default();
            names.entry(name.clone()).or_default().insert(node);
            names.entry(chunk.id().to_owned()).or_default().insert(node);
        }
        if !chunk.sls().is_empty() {
            put(&mut self.sls, chunk.sls(), node);
        }
        let from = chunk.get("__sls_included_from__");
        let from = from.and_then(Value::as_list).into_iter().flatten();
        for sls in from.filter_map(Value::as_str) {
            put(&mut self.included, sls, node);
        }
    }

    /// Whether some SLS includes another one.
    pub(super) fn has_included(&self) -> bool {
        !self.included.is_empty()
    }

    /// The nodes that `{module: value}` means. Nothing if there is no such
    /// state; a pattern for SLS may mean none.
    pub(super) fn find(&self, module: &str, value: &str, reach: Reach) -> Option<Vec<usize>> {
        if module == "sls" {
            return self.find_sls(value, reach);
        }
        let table = self.names.get(module)?;
        if is_pattern(value) {
            let found = matching(table, value)?;
            return Some(found.into_iter().collect());
        }
        Some(table.get(value)?.iter().copied().collect())
    }

    fn find_sls(&self, value: &str, reach: Reach) -> Option<Vec<usize>> {
        let of = |table| match is_pattern(value) {
            true => matching(table, value),
            false => table.get(value).cloned(),
        };
        let (own, included) = (of(&self.sls), of(&self.included));
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

fn is_pattern(value: &str) -> bool {
    value.contains(['*', '?', '[', ']'])
}

/// The nodes under all keys that match; nothing if no key does.
fn matching(table: &IndexMap<String, Nodes>, pattern: &str) -> Option<Nodes> {
    let pattern = glob::Glob::new(pattern);
    let matching = table.iter().filter(|(name, _)| pattern.matches(name));
    let mut nodes = matching.map(|(_, nodes)| nodes).peekable();
    nodes.peek()?;
    Some(nodes.flatten().copied().collect())
}

fn put(table: &mut IndexMap<String, Nodes>, sls: &str, node: usize) {
    table.entry(sls.to_owned()).or_default().insert(node);
}
