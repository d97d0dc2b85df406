//! Why an update would need force.

use super::work_tree::WorkTree;
use super::{Job, Stop, short};

impl Job<'_, '_> {
    /// Why the update is not made without force.
    pub(super) fn not_forward(&self, tree: &WorkTree<'_>) -> Stop {
        let local_branch = tree.local_branch.as_deref();
        let advice = self.other_revision_advice(local_branch.unwrap_or("None"));
        let post = short(self.remote.hash.as_deref().unwrap_or_default()).to_owned();
        let pre = short(tree.base.as_deref().unwrap_or_default()).to_owned();
        let range = if tree.is_dirty && pre != post {
            format!("from {pre} to {post}")
        } else {
            format!("to {post}")
        };
        let after = match &self.branch {
            Some(branch) if Some(branch.as_str()) != local_branch => {
                format!(" (after checking out local branch '{branch}')")
            }
            _ => String::new(),
        };
        let (why, or, end) = if tree.is_dirty {
            (
                "there are uncommitted changes",
                " (or 'remote-changes')",
                " and discard these changes",
            )
        } else {
            ("this is not a fast-forward merge", "", "")
        };
        Stop::Said(format!(
            "Repository would be updated {range}{after}, but {why}. Set 'force_reset' to True{or} to force this update{end}.{advice}"
        ))
    }

    /// What may make a forced update needless.
    fn other_revision_advice(&self, local: &str) -> String {
        match (&self.branch, self.rev.as_str()) {
            (Some(_), _) => String::new(),
            (None, "HEAD") => match self.remote.default_branch.as_deref() {
                Some(default) if default != local => format!(
                    " The default remote branch ({default}) differs from the local branch ({local}). This could be caused by changing the default remote branch, or if the local branch was manually changed. Rather than forcing an update, it may be advisable to set the 'branch' argument to '{default}' instead. To ensure that this state follows the '{default}' branch instead of the remote HEAD, set the 'rev' argument to '{default}'."
                ),
                _ => String::new(),
            },
            (None, rev) if rev != local => format!(
                " The desired rev ({rev}) differs from the name of the local branch ({local}), if the desired rev is a branch name then a forced update could possibly be avoided by setting the 'branch' argument to '{rev}' instead."
            ),
            _ => String::new(),
        }
    }
}
