//! Fetching, and tags that are gone.
use halite_call::StateReturn;
use halite_proto::Value;

use super::{Job, Stop};
use crate::git::run::reason;

impl Job<'_, '_> {
    /// Fetches new tags and drops those that are gone; whether tags differ.
    pub(super) fn sync_tags(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<bool, Stop> {
        let local = self.git.refs(self.call, "refs/tags/")?;
        let missing = |from: &[String], other: &[String]| -> Vec<String> {
            let mut list: Vec<String> = from
                .iter()
                .filter(|tag| !other.contains(tag))
                .cloned()
                .collect();
            list.sort();
            list
        };
        let (new, gone) = (
            missing(&self.remote.tags, &local),
            missing(&local, &self.remote.tags),
        );
        let list =
            |tags: &[String]| Value::List(tags.iter().map(|tag| tag.as_str().into()).collect());
        if !new.is_empty() {
            state.changes.insert("new_tags", list(&new));
        }
        if !gone.is_empty() && self.call.flag("sync_tags") {
            for tag in &gone {
                self.git.go(self.call, &["tag", "-d", tag])?;
            }
            state.changes.insert("deleted_tags", list(&gone));
            comments.push(format!(
                "The following tags were removed from the local checkout: {}",
                gone.join(", ")
            ));
        }
        Ok(!new.is_empty() || !gone.is_empty())
    }

    pub(super) fn fetch(&self, comments: &mut Vec<String>) -> Result<bool, Stop> {
        let (branch, tag) = (
            self.call.text("refspec_branch"),
            self.call.text("refspec_tag"),
        );
        let mut refspecs = Vec::new();
        if self.call.flag("fetch_tags") {
            refspecs.push(format!(
                "refs/heads/{branch}:refs/remotes/{}/{branch}",
                self.remote_name
            ));
            refspecs.push(format!("+refs/tags/{tag}:refs/tags/{tag}"));
        }
        let force = self.call.flag("force_fetch");
        let fetched = self
            .git
            .fetch(self.call, Some(&self.remote_name), force, &refspecs, &[]);
        let changes = fetched.map_err(|error| {
            let why = reason(&error);
            let hint = "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to fast-forward. Output of the fetch command follows:\n\n";
            Stop::Said(format!("{hint}{why}"))
        })?;
        if !changes.is_empty() && !self.bare {
            comments.push(format!(
                "{} was fetched, resulting in updated refs",
                self.name
            ));
        }
        Ok(!changes.is_empty())
    }
}
