//! Merge keys: `<<: *defaults`, also with a list of maps.

use std::collections::HashSet;

use super::{Constructor, IN_A_MAP};
use crate::compose::Body;
use crate::error::{ErrorKind, YamlError};
use crate::limits::{DEPTH_MAX, MERGED_ENTRIES_MAX};
use crate::place::Span;
use crate::resolve::Tag;

impl Constructor<'_> {
    /// Replaces the `<<` entries of a map by what they stand for, in front,
    /// without the keys that the map has itself. Once done it stays done.
    pub(super) fn flatten(&mut self, index: usize, depth: usize) -> Result<(), Box<YamlError>> {
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
    fn merged_maps(&self, from: usize, span: Span) -> Result<Vec<usize>, Box<YamlError>> {
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
}
