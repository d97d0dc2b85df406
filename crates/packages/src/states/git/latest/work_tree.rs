//! The content of a work tree before its update.

use std::path::Path;

use super::{Job, Stop};
use crate::git::half_update::HalfUpdate;

/// A work tree, and what the wanted revision means for its branches.
pub(super) struct WorkTree<'j> {
    /// The commit that is checked out.
    pub(super) local: Option<String>,
    pub(super) local_branch: Option<String>,
    /// The commit that is wanted.
    pub(super) hash: &'j str,
    pub(super) branches: Vec<String>,
    /// The wanted branch, if it is not the one that is checked out.
    pub(super) other_branch: Option<&'j String>,
    /// The commit that the branch to update is at.
    pub(super) base: Option<String>,
    /// Whether the wanted commit is checked out.
    pub(super) matches: bool,
    /// Whether there are uncommitted changes.
    pub(super) is_dirty: bool,
}

impl<'j> WorkTree<'j> {
    /// Looks at the work tree of `job`, which is to come to `hash`. Files that
    /// a killed update has left are set back first, except in test mode.
    ///
    /// # Errors
    /// When git cannot be run, or says no.
    pub(super) fn survey(job: &'j Job<'_, '_>, hash: &'j str) -> Result<Self, Stop> {
        let (call, git) = (job.call, &job.git);
        let local = git.commit_of(call, "HEAD")?;
        let local_branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let branches = git.refs(call, "refs/heads/")?;
        let other_branch = job
            .branch
            .as_ref()
            .filter(|branch| Some(*branch) != local_branch.as_ref());
        let base = match other_branch {
            Some(branch) if branches.contains(branch) => git.commit_of(call, branch)?,
            Some(_) => Some(hash.to_owned()),
            None => local.clone(),
        };
        let mut is_dirty =
            git.ask(call, &["diff", "--quiet", "HEAD"])?.is_none() && local.is_some();
        if let Some(half) = HalfUpdate::at(call, git, Path::new(&job.path()))? {
            is_dirty = !call.is_test() && !half.settle(call, git)?;
        }
        Ok(Self {
            matches: job.equal(local.as_deref()),
            local,
            local_branch,
            hash,
            branches,
            other_branch,
            base,
            is_dirty,
        })
    }

    /// Whether the branch that is wanted instead is there already.
    pub(super) fn has_other_branch(&self) -> bool {
        self.other_branch
            .is_some_and(|branch| self.branches.contains(branch))
    }

    /// The branch that the update starts from.
    pub(super) fn base_branch(&self) -> Option<&str> {
        match self.other_branch {
            Some(branch) if self.has_other_branch() => Some(branch),
            _ => self.local_branch.as_deref(),
        }
    }
}
