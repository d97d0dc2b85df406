//! Making the clone where there is none.

use std::path::Path;

use halite_call::StateReturn;
use halite_git::Pending;

use super::{Job, Stop, sentence};
use crate::git::half_clone::cloning;
use crate::git::half_update::updating;
use crate::git::run::reason;
use crate::states::git::clone_plan::{ClonePlan, would_be_cloned};
use crate::states::git::{empty_directory, has_files};

impl Job<'_, '_> {
    pub(super) fn clone_it(
        &mut self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let (call, path) = (self.call, self.path());
        let new = format!("{} => {}", self.name, self.target);
        match ClonePlan::decide(call, &self.name, &self.target, has_files(&path)) {
            ClonePlan::Refuse(comment) => return Err(Stop::Said(comment)),
            ClonePlan::Predict { comment, empties } => {
                if empties {
                    state.changes.insert("forced clone", true);
                }
                state.changes.insert("new", new);
                return Ok(state.clone().pending(comment));
            }
            ClonePlan::Clone { empties: true } => {
                state.changes.insert("forced clone", true);
                empty_directory(&path)?;
            }
            ClonePlan::Clone { empties: false } => {}
        }
        let pending = self.clone_to(&path)?;
        state.changes.insert("new", new);
        let kind = if self.mirror {
            " as mirror"
        } else if self.bare {
            " as bare repository"
        } else {
            ""
        };
        comments.push(format!("{} cloned to {}{kind}", self.name, self.target));
        self.finish_clone(pending, state, comments)
    }

    /// Clones to `path`. The record ends when the wanted files are there.
    fn clone_to(&self, path: &str) -> Result<Pending, Stop> {
        let call = self.call;
        let depth = call.text("depth");
        let mut words = vec!["clone"];
        if self.mirror {
            words.push("--mirror");
        } else if self.bare {
            words.push("--bare");
        }
        if self.remote_name != "origin" {
            words.extend(["--origin", &self.remote_name]);
        }
        if !call.arg("depth").is_nil() {
            words.extend(["--depth", &depth, "--branch", &self.rev]);
        }
        words.extend(["--", &self.url, path]);
        let pending = cloning(call, Path::new(path));
        if let Err(error) = self.git.go(call, &words) {
            pending.end(self.git.was_killed());
            return Err(Stop::Said(format!("Clone failed: {}", reason(&error))));
        }
        Ok(pending)
    }

    /// Brings a clone to what is wanted.
    pub(super) fn finish_clone(
        &mut self,
        pending: Pending,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let call = self.call;
        self.git.cwd = Some(self.target.clone());
        let mut done = Ok(());
        if !self.bare && self.remote.hash.is_some() {
            done = self
                .check_out_clone(comments)
                .and_then(|()| self.submodules());
        }
        // One that failed is whole; what it lacks is for the update.
        pending.end(self.git.was_killed());
        done?;
        let now = self.git.commit_of(call, "HEAD")?;
        if let Some(now) = now {
            self.set_revision(state, None, &now);
        }
        Ok(state.clone().ok(sentence(comments)))
    }

    /// What a test says of a clone that is not there.
    pub(super) fn would_be_cloned(&self, state: &mut StateReturn) -> StateReturn {
        let new = format!("{} => {}", self.name, self.target);
        state.changes.insert("new", new);
        let comment = would_be_cloned(&self.name, &self.target);
        state.clone().pending(comment)
    }

    /// Brings a fresh clone to the wanted revision.
    pub(super) fn check_out_clone(&self, comments: &mut Vec<String>) -> Result<(), Stop> {
        let call = self.call;
        let hash = self.remote.hash.clone().unwrap_or_default();
        // One that was cut off may be older than what is wanted now.
        if self.git.commit_of(call, &hash)?.is_none() {
            self.git.set_remote(call, &self.remote_name, &self.url)?;
            self.fetch(comments)?;
        }
        let mut update = updating(call, Path::new(&self.path()), true);
        update.towards(&hash);
        let done = self.check_out_files(&hash, comments);
        update.end(self.git.was_killed());
        let local_branch = done?;
        if let Some(action) = self.track(local_branch.as_deref())? {
            comments.push(action);
        }
        Ok(())
    }

    /// The branch that is checked out then.
    fn check_out_files(
        &self,
        hash: &str,
        comments: &mut Vec<String>,
    ) -> Result<Option<String>, Stop> {
        let (call, git) = (self.call, &self.git);
        if let Some(branch) = &self.branch
            && !git.refs(call, "refs/heads/")?.contains(branch)
        {
            let start = match (&self.remote.upstream, self.rev.as_str()) {
                (_, "HEAD") => hash,
                (Some(upstream), _) => upstream,
                (None, rev) => rev,
            };
            git.go(call, &["checkout", "-b", branch, start])?;
            comments.push(format!(
                "Branch '{branch}' checked out, with {} as a starting point",
                self.remote.place
            ));
        }
        let local_branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let local = git.commit_of(call, "HEAD")?;
        if local_branch.is_none() && local.is_none() && !self.remote.has_head {
            return Err(Stop::Said(
                "Remote HEAD refers to a ref that does not exist. This can happen when the default branch on the remote repository is renamed or deleted. If you are unable to fix the remote repository, you can work around this by setting the 'branch' argument (which will ensure that the named branch is created if it does not already exist)."
                    .to_owned(),
            ));
        }
        if !self.equal(local.as_deref()) {
            git.go(call, &["reset", "--hard", hash])?;
            comments.push(format!("Repository was reset to {}", self.remote.place));
        }
        Ok(local_branch)
    }

    /// Sets what the branch tracks, if that is something else.
    pub(super) fn track(&self, local_branch: Option<&str>) -> Result<Option<String>, Stop> {
        let Some((wanted, what)) = self.tracking(local_branch)? else {
            return Ok(None);
        };
        match wanted {
            Some(upstream) => {
                let option = format!("--set-upstream-to={upstream}");
                self.git.go(self.call, &["branch", &option])?;
            }
            None => drop(self.git.go(self.call, &["branch", "--unset-upstream"])?),
        }
        Ok(Some(format!("Tracking branch was {what}")))
    }

    /// What the branch is to track, and how that is told.
    pub(super) fn tracking(
        &self,
        local_branch: Option<&str>,
    ) -> Result<Option<(Option<String>, String)>, Stop> {
        if self.rev == "HEAD" {
            return Ok(None);
        }
        let upstream = match local_branch {
            None => None,
            Some(branch) => {
                let rev = format!("{branch}@{{upstream}}");
                self.git
                    .ask(self.call, &["rev-parse", "--abbrev-ref", &rev])?
            }
        };
        Ok(match (&upstream, &self.remote.upstream) {
            (None, Some(wanted)) => Some((Some(wanted.clone()), format!("set to {wanted}"))),
            (Some(_), None) => Some((None, "unset".to_owned())),
            (Some(now), Some(wanted)) if now != wanted => {
                Some((Some(wanted.clone()), format!("updated to {wanted}")))
            }
            _ => None,
        })
    }
}
