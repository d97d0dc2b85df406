//! `ext_pillar`: finds entries with unknown names.

use halite_yaml::{Node, NodeKind};

use super::MasterConfig;
use crate::error::ConfigError;

const ALLOWED: &str = "the name of an external pillar of this master, of an installed Salt, or of \
                       a file in extension_modules/pillar or in `_pillar` of file_roots";

impl MasterConfig {
    /// The entries of `ext_pillar` for which `exists` is false.
    pub fn unknown_external_pillars(&self, exists: impl Fn(&str) -> bool) -> Vec<ConfigError> {
        let Some((_, list)) = self.raw.in_file("ext_pillar") else {
            return Vec::new();
        };
        let items = list.as_list().unwrap_or_default().iter();
        let names = items.flat_map(|item| match &item.value {
            NodeKind::Map(entries) => entries.as_slice(),
            _ => &[],
        });
        let is_unknown = |name: &&Node| name.as_str().is_some_and(|name| !exists(name));
        names
            .map(|(name, _)| name)
            .filter(is_unknown)
            .filter_map(|name| self.raw.wrong_node("ext_pillar", name, ALLOWED))
            .collect()
    }
}
