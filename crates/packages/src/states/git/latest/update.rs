//! Updating a clone that is there to the wanted revision.

use halite_call::{StateReturn, addresses::redacted};

use super::work_tree::WorkTree;
use super::{Job, Stop, sentence, short};

/// What is known of the way to the wanted revision before anything is fetched.
pub(super) struct Outlook {
    /// Whether the clone has the revision, as the remote side has it.
    pub(super) has_remote: bool,
    /// Whether the update is a fast-forward, if that can be said.
    pub(super) forward: Option<bool>,
    /// The address of the remote as it is configured.
    pub(super) old_url: Option<String>,
}

impl Job<'_, '_> {
    pub(super) fn update(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        if self.bare {
            return self.update_bare(state, comments);
        }
        let Some(hash) = self.remote.hash.as_deref() else {
            return self.update_to_empty(state, comments);
        };
        let tree = WorkTree::survey(self, hash)?;
        if let Some(done) = self.changes_kept(&tree, state) {
            return Ok(done);
        }
        let has_remote = self.has_remote(hash)?;
        if has_remote && self.keeps_head(&tree) {
            return Ok(self.head_kept(&tree, state));
        }
        let forward = self.early_forward(&tree, has_remote)?;
        if forward == Some(false) && !self.is_forced() {
            return Err(self.not_forward(&tree));
        }
        let old_url = self.configured_url()?;
        if self.call.is_test() {
            let outlook = Outlook {
                has_remote,
                forward,
                old_url,
            };
            return self.predict(state, &tree, &outlook);
        }
        self.set_url(old_url.as_deref(), state, comments)?;
        let differs = self.sync_tags(state, comments)?;
        if has_remote && !differs {
            self.bring(&tree, forward, state, comments)?;
        } else {
            self.fetch_commit(hash, comments)?;
            if self.keeps_head(&tree) {
                return Ok(self.head_kept(&tree, state));
            }
            let forward = self.is_forward(&tree)?;
            if !self.is_forced() && (!forward || tree.is_dirty && !tree.matches) {
                return Err(self.not_forward(&tree));
            }
            self.bring(&tree, Some(forward), state, comments)?;
        }
        self.check_update(tree.local.as_deref(), state, comments)
    }

    /// The remote side has no commit: right only where there is none here.
    fn update_to_empty(
        &self,
        state: &StateReturn,
        comments: &[String],
    ) -> Result<StateReturn, Stop> {
        if self.git.commit_of(self.call, "HEAD")?.is_some() {
            return Err(Stop::Said(
                "Remote repository is empty, cannot update from a non-empty to an empty repository"
                    .to_owned(),
            ));
        }
        Ok(self.up_to_date(state, comments, false))
    }

    /// The answer for a tree at the wanted revision whose uncommitted changes
    /// stay, or would be reset.
    fn changes_kept(&self, tree: &WorkTree<'_>, state: &mut StateReturn) -> Option<StateReturn> {
        if !tree.is_dirty || !tree.matches {
            return None;
        }
        if self.call.arg("force_reset").as_bool() != Some(true) {
            return Some(self.up_to_date(state, &[], true));
        }
        if !self.call.is_test() {
            return None;
        }
        state.changes.insert("forced update", true);
        Some(state.clone().pending(format!(
            "{} is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local changes would be reset. To only reset when there are changes in the remote repository, set 'force_reset' to 'remote-changes'.",
            self.target
        )))
    }

    /// Whether HEAD stays where it is, as `update_head` asks.
    fn keeps_head(&self, tree: &WorkTree<'_>) -> bool {
        !tree.matches && !self.call.flag("update_head") && tree.other_branch.is_none()
    }

    fn head_kept(&self, tree: &WorkTree<'_>, state: &StateReturn) -> StateReturn {
        let mut place = self.remote.place.clone();
        if self.rev == "HEAD" {
            place = place.to_lowercase().replacen("remote", "Remote", 1);
        }
        state.clone().ok(format!(
            "{place} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been updated locally.",
            short(tree.local.as_deref().unwrap_or_default())
        ))
    }

    /// Whether the update is a fast-forward, as far as it shows before the
    /// fetch. With uncommitted changes it is none, unless only those of the
    /// remote side count.
    fn early_forward(&self, tree: &WorkTree<'_>, has_remote: bool) -> Result<Option<bool>, Stop> {
        let reset = self.call.arg("force_reset");
        if tree.is_dirty && reset.as_str() != Some("remote-changes") {
            return Ok(Some(false));
        }
        has_remote.then(|| self.is_forward(tree)).transpose()
    }

    fn is_forward(&self, tree: &WorkTree<'_>) -> Result<bool, Stop> {
        let Some(base) = &tree.base else {
            return Ok(true);
        };
        let words = ["merge-base", "--is-ancestor", base, tree.hash];
        Ok(self.git.ask(self.call, &words)?.is_some())
    }

    pub(super) fn is_forced(&self) -> bool {
        self.call.arg("force_reset").is_true()
    }

    fn configured_url(&self) -> Result<Option<String>, Stop> {
        let remotes = self.git.remotes(self.call)?;
        let mut found = remotes
            .into_iter()
            .filter(|(name, ..)| *name == self.remote_name);
        Ok(found.next().map(|(_, fetch, _)| fetch))
    }

    /// Has the remote fetch from the wanted address.
    fn set_url(
        &self,
        old: Option<&str>,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        if old == Some(&self.url) {
            return Ok(());
        }
        self.git
            .set_remote(self.call, &self.remote_name, &self.url)?;
        let (name, url) = (&self.remote_name, redacted(&self.url));
        match old {
            None => {
                comments.push(format!("Remote '{name}' set to {url}"));
                let new = format!("{} => {name}", self.name);
                state.changes.insert("new", new);
            }
            Some(old) => comments.push(format!(
                "Remote '{name}' changed from {} to {url}",
                redacted(old)
            )),
        }
        Ok(())
    }

    /// Fetches, and makes sure that the wanted commit came with it.
    fn fetch_commit(&self, hash: &str, comments: &mut Vec<String>) -> Result<(), Stop> {
        self.fetch(comments)?;
        if self.git.commit_of(self.call, hash)?.is_none() {
            return Err(Stop::Said(format!(
                "Fetch did not successfully retrieve rev '{}' from {}: unknown revision",
                self.rev, self.name
            )));
        }
        Ok(())
    }

    /// What has come of the update: HEAD was at `before`.
    fn check_update(
        &self,
        before: Option<&str>,
        state: &mut StateReturn,
        comments: &[String],
    ) -> Result<StateReturn, Stop> {
        let now = self.git.commit_of(self.call, "HEAD")?;
        if !self.equal(now.as_deref()) {
            return Err(Stop::Said("Failed to update repository".to_owned()));
        }
        if before == now.as_deref() {
            return Ok(self.up_to_date(state, comments, false));
        }
        self.set_revision(state, before, &now.unwrap_or_default());
        Ok(state.clone().ok(sentence(comments)))
    }

    /// Whether the clone has the wanted commit, under the name that it has on
    /// the remote side.
    fn has_remote(&self, hash: &str) -> Result<bool, Stop> {
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

    fn update_bare(
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
