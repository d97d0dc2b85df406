//! Bringing branch and files of a work tree to the wanted revision.

use std::path::Path;

use halite_call::StateReturn;
use halite_git::Pending;

use super::work_tree::WorkTree;
use super::{Job, Stop};
use crate::git::half_update::updating;

/// A work tree on its way to the wanted revision.
struct Advance<'t> {
    tree: &'t WorkTree<'t>,
    /// Whether the way is a fast-forward, if that is known.
    forward: Option<bool>,
    /// The record of the files that are being written.
    record: Pending,
}

impl Job<'_, '_> {
    /// Brings branch, files and submodules to the wanted revision.
    pub(super) fn bring(
        &self,
        tree: &WorkTree<'_>,
        forward: Option<bool>,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let mut advance = Advance {
            tree,
            forward,
            record: updating(self.call, Path::new(&self.path()), !tree.is_dirty),
        };
        let done = self.bring_files(&mut advance, state, comments);
        advance.record.end(self.git.was_killed());
        done?;
        self.submodules()
    }

    /// Brings the branch and its files there.
    fn bring_files(
        &self,
        advance: &mut Advance<'_>,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let (call, git) = (self.call, &self.git);
        let (tree, forward) = (advance.tree, advance.forward);
        let (hash, base) = (tree.hash, tree.base.as_deref());
        advance.record.towards(base.unwrap_or(hash));
        self.switch(tree, comments)?;
        advance
            .record
            .towards(&git.commit_of(call, hash)?.unwrap_or_default());
        if forward == Some(false) {
            git.go(call, &["reset", "--hard", hash])?;
            state.changes.insert("forced update", true);
            if tree.is_dirty {
                comments.push("Uncommitted changes were discarded".to_owned());
            }
            comments.push(format!(
                "Repository was hard-reset to {}",
                self.remote.place
            ));
        } else if tree.is_dirty && self.is_forced() {
            git.go(call, &["reset", "--hard", "HEAD"])?;
            comments.push("Uncommitted changes were discarded".to_owned());
        }
        let current = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        if current.is_some()
            && let Some(action) = self.track(current.as_deref())?
        {
            comments.push(action);
        }
        if forward == Some(true) && !self.equal(base) {
            self.go_forward(hash, current.is_some(), comments)?;
        }
        Ok(())
    }

    /// Moves the branch to a commit that comes after its own.
    fn go_forward(
        &self,
        hash: &str,
        on_branch: bool,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        if self.remote.upstream.is_none() && self.rev != "HEAD" {
            self.git.go(self.call, &["reset", "--hard", &self.rev])?;
            comments.push(format!(
                "Repository was reset to {} (fast-forward)",
                self.rev
            ));
            return Ok(());
        }
        if !on_branch {
            return Err(Stop::Said(
                "Unable to fast-forward, HEAD is detached".to_owned(),
            ));
        }
        self.git.go(self.call, &["merge", "--ff-only", hash])?;
        comments.push(format!(
            "Repository was fast-forwarded to {}",
            self.remote.place
        ));
        Ok(())
    }

    /// Checks out the wanted branch, if another one is.
    fn switch(&self, tree: &WorkTree<'_>, comments: &mut Vec<String>) -> Result<(), Stop> {
        let Some(branch) = tree.other_branch else {
            return Ok(());
        };
        let force = self.call.flag("force_checkout");
        if tree.is_dirty && !force {
            return Err(Stop::Said(format!(
                "Local branch '{branch}' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed."
            )));
        }
        let mut words = vec!["checkout"];
        if force {
            words.push("--force");
        }
        if tree.branches.contains(branch) {
            words.push(branch);
            self.git.go(self.call, &words)?;
            comments.push(format!("'{branch}' was checked out"));
            return Ok(());
        }
        let hash = self.remote.hash.clone().unwrap_or_default();
        let start = if self.rev == "HEAD" {
            &hash
        } else {
            self.remote.upstream.as_ref().unwrap_or(&self.rev)
        };
        words.extend(["-b", branch, start]);
        self.git.go(self.call, &words)?;
        comments.push(format!(
            "New branch '{branch}' was checked out, with {} as a starting point",
            self.remote.place
        ));
        Ok(())
    }
}
