//! Merges two pillars.
//!
//! As `pillar_source_merging_strategy` of 3008.5 does it, oddities included: `list`
//! keeps only what the lower pillar has, so that a pillar made with it is empty
//! unless the command line gave one.

use halite_call::dicts::update;
use halite_proto::{Map, Value};

/// How pillars are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Maps within maps are merged (`smart`, `recurse`).
    Recurse,
    /// The same, and lists are never merged (`none`, or an unknown name).
    RecurseMaps,
    /// What is at the top is replaced (`overwrite`, `aggregate`).
    Replace,
    /// Pairs of both values (`list`).
    Pairs,
}

/// How pillars are merged: the strategy, and whether lists are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merging {
    /// The strategy.
    pub strategy: Strategy,
    /// `pillar_merge_lists`.
    pub lists: bool,
}

impl Strategy {
    /// The strategy that `pillar_source_merging_strategy` names.
    pub fn parse(name: &str) -> Self {
        match name {
            "smart" | "recurse" => Self::Recurse,
            "aggregate" | "overwrite" => Self::Replace,
            "list" => Self::Pairs,
            "none" => Self::RecurseMaps,
            _ => {
                tracing::warn!(
                    name,
                    "unknown pillar_source_merging_strategy, using recurse"
                );
                Self::RecurseMaps
            }
        }
    }
}

impl Merging {
    /// `over` laid over `under`.
    #[must_use]
    pub fn merge(self, mut under: Map, over: &Map) -> Map {
        match self.strategy {
            Strategy::Recurse => update(&mut under, over, self.lists),
            Strategy::RecurseMaps => update(&mut under, over, false),
            Strategy::Replace => {
                for (key, value) in over {
                    under.insert(key.clone(), value.clone());
                }
            }
            Strategy::Pairs => {
                return under
                    .into_iter()
                    .map(|(key, value)| match over.get_value(&key) {
                        Some(other) => (key, Value::List(vec![value, other.clone()])),
                        None => (key, value),
                    })
                    .collect();
            }
        }
        under
    }
}
