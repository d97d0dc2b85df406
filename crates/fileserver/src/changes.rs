//! What an update of a source has changed, for the events about it.

use std::collections::BTreeMap;

/// The commits of environments; `None` of one that is gone.
pub type MovedEnvs = BTreeMap<String, Option<String>>;

/// What is different from the last look, each sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files that have another time.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
    /// Of a source that does not list files: whether anything is different.
    pub is_different: Option<bool>,
    /// Of git: by remotes, the environments that are at other commits.
    pub remotes: BTreeMap<String, MovedEnvs>,
}

impl Changes {
    /// Whether all is as it was.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.added, &self.changed, &self.removed];
        self.is_different != Some(true) && lists.iter().all(|list| list.is_empty())
    }

    /// Adds those of another remote.
    pub(crate) fn extend(&mut self, other: Self) {
        let is_different = self.is_different == Some(true) || other.is_different == Some(true);
        self.is_different = Some(is_different);
        self.remotes.extend(other.remotes);
    }
}
