//! Whether a repository is cloned to a directory that has none yet.

use halite_call::Call;

/// What is done where `git.latest` or `git.detached` finds no repository.
pub(super) enum ClonePlan {
    /// Nothing: the directory has files, which may not be removed.
    Refuse(String),
    /// Test mode: what would be done, and whether the directory would be
    /// emptied before.
    Predict { comment: String, empties: bool },
    /// The directory is emptied, if that is needed, and the repository cloned.
    Clone { empties: bool },
}

impl ClonePlan {
    /// The plan for a clone of `name` to `target`, which `has_files` or is empty
    /// or not there.
    pub(super) fn decide(call: &Call<'_>, name: &str, target: &str, has_files: bool) -> Self {
        if has_files && !call.flag("force_clone") {
            return Self::Refuse(format!(
                "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
            ));
        }
        if !call.is_test() {
            return Self::Clone { empties: has_files };
        }
        let comment = if has_files {
            format!(
                "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and {name} would be cloned into this directory."
            )
        } else {
            would_be_cloned(name, target)
        };
        Self::Predict {
            comment,
            empties: has_files,
        }
    }
}

/// What test mode says of a repository that is not there.
pub(super) fn would_be_cloned(name: &str, target: &str) -> String {
    format!("Repository {name} would be cloned to {target}")
}
