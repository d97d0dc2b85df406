//! Asks a remote whether it has anything new, which costs half of a fetch.
//!
//! Invariant: the file with the references of the copy exists only while it is
//! right. It is removed before a fetch begins, and written when nothing has changed
//! the references since git listed them.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;

use halite_crypto::files::{WriteOptions, read_limited, write_atomic};

use super::copy::{KEPT, LockedCopy};
use super::{Repository, local_refs};
use crate::GitError;
use crate::limits::SNAPSHOT_BYTES_MAX;
use crate::program::Surroundings;
use crate::remote::REFSPECS;

const MODE: u32 = 0o600;

/// What branches of the remote are called here, see [`REFSPECS`].
const BRANCHES: [&str; 2] = ["refs/heads/", "refs/remotes/origin/"];

impl Repository {
    /// What the copy lists, if the remote has just that. `None` if it has something
    /// else, or if only a fetch can tell.
    ///
    /// # Errors
    /// When the remote cannot be asked.
    pub(super) fn listed_if_same(
        &self,
        around: &Surroundings,
        copy: &LockedCopy<'_>,
    ) -> Result<Option<String>, GitError> {
        // Git has to take it for a repository: else it is fetched anew.
        let is_repository = ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| copy.git_dir.join(name).exists());
        let is_whole = self.remote.depth.is_none() && !copy.git_dir.join("shallow").exists();
        let is_usual = self.remote.refspecs == REFSPECS;
        if copy.git_dir != self.places.git_dir || !is_repository || !is_whole || !is_usual {
            return Ok(None);
        }
        let Ok(listed) = read_limited(&self.places.listed, SNAPSHOT_BYTES_MAX) else {
            return Ok(None);
        };
        let there = match self.remote.url.directory().and_then(local_refs::list) {
            Some(there) => there,
            None => match self.ask(around, copy)? {
                Some(there) => there,
                None => return Ok(None),
            },
        };
        let listed = String::from_utf8_lossy(&listed).into_owned();
        Ok(is_same(&listed, &there).then_some(listed))
    }

    /// What git lists of the remote; `None` if it is too much to be compared.
    fn ask(
        &self,
        around: &Surroundings,
        copy: &LockedCopy<'_>,
    ) -> Result<Option<String>, GitError> {
        let words = [
            "ls-remote",
            "--quiet",
            "--refs",
            "--heads",
            "--tags",
            "origin",
        ];
        let git = around.git(copy.git_dir, words);
        let there = self.talk(git, "ls-remote", copy).0?;
        let text = || String::from_utf8_lossy(&there.stdout).into_owned();
        Ok((!there.cut).then(text))
    }

    /// Remembers what the copy lists. If it cannot be, the next update fetches.
    pub(super) fn remember_listed(&self, listed: &str) {
        let options = WriteOptions {
            // After a power cut it is compared with the remote like any other.
            durable: false,
            ..WriteOptions::new(MODE)
        };
        let written = write_atomic(&self.places.listed, options, listed.as_bytes());
        if let Err(error) = written {
            tracing::debug!(remote = %self.remote, "what was fetched is not noted: {error}");
        }
    }

    /// # Errors
    /// When it is there and cannot be removed.
    pub(super) fn forget_listed(&self) -> Result<(), GitError> {
        match fs::remove_file(&self.places.listed) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(GitError::disk("removing what was noted of it")(error))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a remote that answers with these lines has what the copy lists: the same
/// branches and tags, and no other.
fn is_same(listed: &str, there: &str) -> bool {
    let listed = listed.lines().filter_map(|line| line.split_once(' '));
    let listed = listed.filter(|(_, name)| !name.starts_with(KEPT));
    let mut listed: HashMap<&str, &str> = listed.map(|(id, name)| (name, id)).collect();
    let [theirs, ours] = BRANCHES;
    for line in there.lines() {
        let Some((id, name)) = line.split_once('\t') else {
            return false;
        };
        let own = name
            .strip_prefix(theirs)
            .map(|name| format!("{ours}{name}"));
        if listed.remove(own.as_deref().unwrap_or(name)) != Some(id) {
            return false;
        }
    }
    listed.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_same_references_are_nothing_new() {
        let listed = format!(
            "1 refs/remotes/origin/main\n2 refs/tags/v1\n3 {KEPT}1000/3\n4 refs/tags/heads/x\n"
        );
        let same = "1\trefs/heads/main\n4\trefs/tags/heads/x\n2\trefs/tags/v1\n";
        assert!(is_same(&listed, same));
        assert!(is_same("", ""));
        for other in [
            "",
            "1\trefs/heads/main\n2\trefs/tags/v1\n",
            "1\trefs/heads/main\n4\trefs/tags/heads/x\n5\trefs/tags/v1\n",
            "1\trefs/tags/main\n4\trefs/tags/heads/x\n2\trefs/tags/v1\n",
            &format!("{same}6\trefs/heads/next\n"),
            &format!("{same}1\trefs/heads/main\n"),
            &format!("{same}warning\n"),
        ] {
            assert!(!is_same(&listed, other), "{other}");
        }
    }
}
