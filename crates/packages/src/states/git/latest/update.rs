//! Bringing a clone that is there to the wanted revision.

use std::path::PathBuf;

use halite_call::{CallError, StateReturn};
use halite_git::Pending;
use halite_proto::Value;

use super::predict::Seen;
use super::{Job, Stop, sentence, short};
use crate::git::half_update::{HalfUpdate, updating};
use halite_call::addresses::redacted;

/// Where a work tree is to be brought, and what was found out about the way.
struct Bring<'a> {
    hash: &'a str,
    base: Option<&'a str>,
    other_branch: Option<&'a String>,
    branches: &'a [String],
    dirty: bool,
    forced: bool,
    forward: Option<bool>,
}

impl Job<'_, '_> {
    pub(super) fn update(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let (call, git) = (self.call, &self.git);
        if self.bare {
            return self.update_bare(state, comments);
        }
        let local = git.commit_of(call, "HEAD")?;
        let local_branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let Some(hash) = self.remote.hash.clone() else {
            if local.is_some() {
                return Err(Stop::Said(
                    "Remote repository is empty, cannot update from a non-empty to an empty repository".to_owned(),
                ));
            }
            return Ok(self.up_to_date(state, comments, false));
        };
        let branches = git.refs(call, "refs/heads/")?;
        let other_branch = self
            .branch
            .as_ref()
            .filter(|branch| Some(*branch) != local_branch.as_ref());
        let base = match other_branch {
            Some(branch) if branches.contains(branch) => git.commit_of(call, branch)?,
            Some(_) => Some(hash.clone()),
            None => local.clone(),
        };
        let base_branch = match other_branch {
            Some(branch) if branches.contains(branch) => Some(branch.clone()),
            _ => local_branch.clone(),
        };
        let matches = self.equal(local.as_deref());
        let path = PathBuf::from(self.path());
        let mut dirty = git.ask(call, &["diff", "--quiet", "HEAD"])?.is_none() && local.is_some();
        if let Some(half) = HalfUpdate::at(call, git, &path)? {
            dirty = !call.is_test() && !half.settle(call, git)?;
        }
        let reset = call.arg("force_reset");
        let reset_remote = reset.as_str() == Some("remote-changes");
        let forced = reset.is_true();
        if dirty && matches {
            if reset != &Value::Bool(true) {
                return Ok(self.up_to_date(state, comments, true));
            }
            if call.is_test() {
                state.changes.insert("forced update", true);
                return Ok(state.clone().pending(format!(
                    "{} is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local changes would be reset. To only reset when there are changes in the remote repository, set 'force_reset' to 'remote-changes'.",
                    self.target
                )));
            }
        }
        let mut has_remote = self.has_remote(&hash)?;
        let update_head = call.flag("update_head");
        let left_alone = !matches && !update_head && other_branch.is_none();
        let head_text = |state: &StateReturn| {
            let mut place = self.remote.place.clone();
            if self.rev == "HEAD" {
                place = place.to_lowercase().replacen("remote", "Remote", 1);
            }
            state.clone().ok(format!(
                "{place} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been updated locally.",
                short(local.as_deref().unwrap_or_default())
            ))
        };
        if has_remote && left_alone {
            return Ok(head_text(state));
        }
        let mut forward = if dirty && !reset_remote {
            Some(false)
        } else {
            None
        };
        let ancestor = |base: &Option<String>| -> Result<bool, CallError> {
            match base {
                None => Ok(true),
                Some(base) => Ok(git
                    .ask(call, &["merge-base", "--is-ancestor", base, &hash])?
                    .is_some()),
            }
        };
        if has_remote && forward != Some(false) {
            forward = Some(ancestor(&base)?);
        }
        if forward == Some(false) && !forced {
            return Err(self.not_forward(base.as_deref(), dirty, local_branch.as_deref()));
        }
        let now = git
            .remotes(call)?
            .into_iter()
            .find(|(name, ..)| *name == self.remote_name)
            .map(|(_, fetch, _)| fetch);
        if call.is_test() {
            return self.predict(
                state,
                &Seen {
                    local: local.as_deref(),
                    base_branch: base_branch.as_deref(),
                    other_branch: other_branch.map(String::as_str),
                    branch_exists: other_branch.is_some_and(|branch| branches.contains(branch)),
                    matches,
                    has_remote,
                    forward,
                    forced,
                    old_url: now.as_deref(),
                },
            );
        }
        if now.as_ref() != Some(&self.url) {
            git.set_remote(call, &self.remote_name, &self.url)?;
            match &now {
                None => {
                    comments.push(format!(
                        "Remote '{}' set to {}",
                        self.remote_name,
                        redacted(&self.url)
                    ));
                    state
                        .changes
                        .insert("new", format!("{} => {}", self.name, self.remote_name));
                }
                Some(old) => comments.push(format!(
                    "Remote '{}' changed from {} to {}",
                    self.remote_name,
                    redacted(old),
                    redacted(&self.url)
                )),
            }
        }
        if self.sync_tags(state, comments)? {
            has_remote = false;
        }
        if !has_remote {
            self.fetch(comments)?;
            if git.commit_of(call, &hash)?.is_none() {
                return Err(Stop::Said(format!(
                    "Fetch did not successfully retrieve rev '{}' from {}: unknown revision",
                    self.rev, self.name
                )));
            }
            if left_alone {
                return Ok(head_text(state));
            }
            forward = Some(ancestor(&base)?);
            if !forced && (forward == Some(false) || (forward == Some(true) && dirty && !matches)) {
                return Err(self.not_forward(base.as_deref(), dirty, local_branch.as_deref()));
            }
        }
        let mut update = updating(call, &path, !dirty);
        let done = self.bring(
            &mut update,
            &Bring {
                hash: &hash,
                base: base.as_deref(),
                other_branch,
                branches: &branches,
                dirty,
                forced,
                forward,
            },
            state,
            comments,
        );
        update.end(git.was_killed());
        done?;
        self.submodules()?;
        let now = git.commit_of(call, "HEAD")?;
        if !self.equal(now.as_deref()) {
            return Err(Stop::Said("Failed to update repository".to_owned()));
        }
        if local == now {
            return Ok(self.up_to_date(state, comments, false));
        }
        self.set_revision(state, local.as_deref(), &now.unwrap_or_default());
        Ok(state.clone().ok(sentence(comments)))
    }

    /// Brings branch and files there.
    fn bring(
        &self,
        update: &mut Pending,
        wanted: &Bring<'_>,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let (call, git) = (self.call, &self.git);
        let &Bring {
            hash,
            base,
            other_branch,
            branches,
            dirty,
            forced,
            forward,
        } = wanted;
        update.towards(base.unwrap_or(hash));
        self.switch(other_branch, branches, dirty, comments)?;
        update.towards(&git.commit_of(call, hash)?.unwrap_or_default());
        if forward == Some(false) {
            git.go(call, &["reset", "--hard", hash])?;
            state.changes.insert("forced update", true);
            if dirty {
                comments.push("Uncommitted changes were discarded".to_owned());
            }
            comments.push(format!(
                "Repository was hard-reset to {}",
                self.remote.place
            ));
        } else if dirty && forced {
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

    pub(super) fn go_forward(
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

    pub(super) fn has_remote(&self, hash: &str) -> Result<bool, Stop> {
        let known = self.git.commit_of(self.call, hash)?.is_some();
        Ok(match &self.remote.upstream {
            _ if !known => false,
            Some(upstream) => self.git.commit_of(self.call, upstream)?.as_deref() == Some(hash),
            None if self.remote.is_tag => {
                let local = self
                    .git
                    .commit_of(self.call, &format!("refs/tags/{}", self.rev))?;
                if local.as_deref() != Some(hash)
                    && local.is_some()
                    && !self.call.flag("force_reset")
                {
                    return Err(Stop::Said(format!(
                        "'{}' is a tag, but the remote SHA1 for this tag ({}) doesn't match the local SHA1 ({}). Set 'force_reset' to True to force this update.",
                        self.rev,
                        short(hash),
                        short(local.as_deref().unwrap_or_default())
                    )));
                }
                local.as_deref() == Some(hash)
            }
            None => true,
        })
    }

    pub(super) fn not_forward(
        &self,
        base: Option<&str>,
        dirty: bool,
        local_branch: Option<&str>,
    ) -> Stop {
        let local = local_branch.unwrap_or("None");
        let advice = match (&self.branch, self.rev.as_str()) {
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
        };
        let post = short(self.remote.hash.as_deref().unwrap_or_default()).to_owned();
        let pre = short(base.unwrap_or_default()).to_owned();
        let range = if dirty && pre != post {
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
        let (why, or, end) = if dirty {
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

    pub(super) fn switch(
        &self,
        other: Option<&String>,
        branches: &[String],
        dirty: bool,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let Some(branch) = other else {
            return Ok(());
        };
        let force = self.call.flag("force_checkout");
        if dirty && !force {
            return Err(Stop::Said(format!(
                "Local branch '{branch}' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed."
            )));
        }
        let mut words = vec!["checkout"];
        if force {
            words.push("--force");
        }
        if branches.contains(branch) {
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

    pub(super) fn update_bare(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        if self.call.is_test() {
            let text = format!("Bare repository at {} would be fetched", self.target);
            return Ok(self.up_to_date(state, &[text], false));
        }
        let before = self.git.commit_of(self.call, "HEAD")?;
        let changed = self.fetch(comments)?;
        let more = if changed {
            ", resulting in updated refs"
        } else {
            ""
        };
        comments.push(format!(
            "Bare repository at {} was fetched{more}",
            self.target
        ));
        let now = self.git.commit_of(self.call, "HEAD")?;
        if before == now {
            return Ok(self.up_to_date(state, comments, false));
        }
        self.set_revision(state, before.as_deref(), &now.unwrap_or_default());
        Ok(state.clone().ok(sentence(comments)))
    }
}
