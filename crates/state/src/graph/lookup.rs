//! Finding the chunks that a reference means.

use std::collections::HashMap;

use halite_target::glob;
use indexmap::{IndexMap, IndexSet};

use crate::chunk::Chunk;

type Nodes = IndexSet<usize>;

/// The tables: tags, names and ids of each module, and SLS.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    tags: HashMap<String, usize>,
    names: HashMap<String, IndexMap<String, Nodes>>,
    sls: IndexMap<String, Nodes>,
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
            self.add_sls(chunk.sls(), node);
        }
        let included_from = chunk.get("__sls_included_from__");
        for sls in included_from
            .and_then(|list| list.as_list())
            .into_iter()
            .flatten()
        {
            if let Some(sls) = sls.as_str() {
                self.add_sls(sls, node);
            }
        }
    }

    /// The nodes that `{module: value}` means. Nothing if there is no such
    /// state; a pattern for SLS may mean none.
    pub(super) fn find(&self, module: &str, value: &str) -> Option<Vec<usize>> {
        let is_pattern = value.contains(['*', '?', '[', ']']);
        let table = if module == "sls" {
            Some(&self.sls)
        } else {
            self.names.get(module)
        };
        if !is_pattern {
            return Some(table?.get(value)?.iter().copied().collect());
        }
        let pattern = glob::Glob::new(value);
        let mut found = Nodes::new();
        let mut any = module == "sls";
        for (name, nodes) in table.into_iter().flatten() {
            if pattern.matches(name) {
                any = true;
                found.extend(nodes);
            }
        }
        any.then(|| found.into_iter().collect())
    }

    fn add_sls(&mut self, sls: &str, node: usize) {
        self.sls.entry(sls.to_owned()).or_default().insert(node);
    }
}
