//! Which events trigger which files of the reactor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tokio::sync::Notify;

use crate::core::rules::Rules;

/// What events call for, as the configuration and `reactor.*` say.
pub(crate) struct ReactorRules {
    rules: RwLock<Rules>,
    is_leader: AtomicBool,
    changed: Notify,
}

impl ReactorRules {
    /// With the rules of the configuration.
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules: RwLock::new(rules),
            is_leader: AtomicBool::new(true),
            changed: Notify::new(),
        }
    }

    /// The rules.
    pub(crate) fn rules(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a rule is added.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Adds a rule; false if there is one for that tag.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn add(&self, glob: &str, files: Vec<String>) -> Result<bool, String> {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let is_added = rules.add(glob, files)?;
        drop(rules);
        self.changed.notify_one();
        Ok(is_added)
    }

    /// Removes the rules for a tag; false if it has none.
    pub(crate) fn delete(&self, glob: &str) -> bool {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.delete(glob)
    }

    /// Whether this master reacts.
    pub(crate) fn is_leader(&self) -> bool {
        self.is_leader.load(Ordering::Relaxed)
    }

    /// Has this master react, or not.
    pub(crate) fn set_leader(&self, value: bool) {
        self.is_leader.store(value, Ordering::Relaxed);
    }

    /// The files that an event calls for; none where this master does not
    /// react.
    pub(crate) fn files_for(&self, tag: &str) -> Vec<String> {
        if !self.is_leader() {
            return Vec::new();
        }
        let rules = self.rules();
        rules
            .files_for(tag)
            .into_iter()
            .map(str::to_owned)
            .collect()
    }
}
