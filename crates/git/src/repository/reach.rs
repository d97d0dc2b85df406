//! Which commits branches and tags reach.
//!
//! Invariant: git is asked once about a commit as long as branches and tags stay
//! as they are, and about no more than so many commits.

use std::collections::HashMap;
use std::path::Path;

use halite_process::child::{RunOptions, run};

use super::{Repository, Stamp};
use crate::limits::{REACH_TIME_MAX, REACHED_MAX};
use crate::objects::Id;
use crate::program::{bare_git, failed};
use crate::remote::Auth;
use crate::{GitError, Snapshot};

/// What is known, as of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Reached {
    of: Option<Stamp>,
    known: HashMap<Id, bool>,
}

impl Repository {
    /// Whether a branch or tag names a commit or one after it. What is only kept
    /// for those who began with it is not reached.
    ///
    /// # Errors
    /// When git cannot say.
    pub fn reaches(&self, snapshot: &Snapshot, id: Id) -> Result<bool, GitError> {
        if snapshot.names(id) {
            return Ok(true);
        }
        let stamp = super::stamp(&self.places.snapshot);
        let mut reached = self
            .reached
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if reached.of != stamp || reached.known.len() >= REACHED_MAX {
            *reached = Reached {
                of: stamp,
                known: HashMap::new(),
            };
        }
        if let Some(known) = reached.known.get(&id) {
            return Ok(*known);
        }
        let is_reached = contains(&self.places.git_dir, id)?;
        reached.known.insert(id, is_reached);
        Ok(is_reached)
    }
}

fn contains(git_dir: &Path, id: Id) -> Result<bool, GitError> {
    let mut git = bare_git(Path::new("/"));
    git.env("GIT_DIR", ".").current_dir(git_dir).args([
        "for-each-ref",
        "--count=1",
        "--format=%(refname)",
        &format!("--contains={id}"),
        "refs/remotes/origin",
        "refs/tags",
    ]);
    let options = RunOptions {
        own_session: true,
        timeout: Some(REACH_TIME_MAX),
        ..RunOptions::default()
    };
    let ran = run(git, options, |_| ()).map_err(GitError::Start)?;
    match (ran.timed_out, ran.code) {
        (true, _) => Err(GitError::Slow {
            doing: "for-each-ref",
            limit: REACH_TIME_MAX,
        }),
        (false, 0) => Ok(!ran.stdout.is_empty()),
        (false, _) => Err(failed("for-each-ref", &ran, &Auth::default())),
    }
}
