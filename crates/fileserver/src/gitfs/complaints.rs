//! Log lines about remotes that cannot be read.
//!
//! Invariant: the same error of the same remote is logged once, however many
//! minions ask for files.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use halite_git::{GitError, Remote};
use tracing::warn;

use crate::limits::COMPLAINTS_MAX;

/// What the log says already, by the remotes' directories.
#[derive(Debug, Default)]
pub(super) struct Complaints(Mutex<HashMap<String, HashSet<String>>>);

impl Complaints {
    /// What was read, or nothing and a line in the log.
    pub(super) fn logged<T>(&self, remote: &Remote, read: Result<T, GitError>) -> Option<T> {
        let told = |error: &GitError| {
            if self.is_new(&remote.dir(), error.to_string()) {
                warn!(%remote, "could not read a git remote: {error}");
            }
        };
        read.inspect_err(told).ok()
    }

    /// Says that a run goes on with another commit than it began with. Minions
    /// choose the id: it is told once for each environment.
    pub(super) fn moved_on(&self, remote: &Remote, saltenv: &str, id: &str) {
        let text = format!("a run in {saltenv} began with a commit that is not here");
        if self.is_new(&remote.dir(), text) {
            warn!(
                %remote, saltenv, id,
                "a state run began with a commit that this master does not have or no longer \
                 keeps: it continues with the current one, although its return names the \
                 first"
            );
        }
    }

    fn is_new(&self, dir: &str, text: String) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.entry(dir.to_owned()).or_default();
        if told.len() >= COMPLAINTS_MAX && !told.contains(&text) {
            told.clear();
        }
        told.insert(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_told_once() {
        let complaints = Complaints::default();
        let is_new = |dir: &str, text: &str| complaints.is_new(dir, text.to_owned());
        assert!(is_new("one", "x"));
        assert!(is_new("one", "y"));
        assert!(is_new("two", "x"));
        assert!(!is_new("one", "x"));
        for number in 0..COMPLAINTS_MAX {
            is_new("one", &number.to_string());
        }
        assert!(is_new("one", "x"), "too much was remembered");
    }
}
