//! What test mode says.

use halite_call::StateReturn;

use super::update::Outlook;
use super::work_tree::WorkTree;
use super::{Job, Stop, sentence, short};
use halite_call::addresses::redacted;

impl Job<'_, '_> {
    /// What the update would do.
    pub(super) fn predict(
        &self,
        state: &mut StateReturn,
        tree: &WorkTree<'_>,
        outlook: &Outlook,
    ) -> Result<StateReturn, Stop> {
        let mut actions = Vec::new();
        let hash = self.remote.hash.clone().unwrap_or_default();
        let update_head = self.call.flag("update_head");
        if outlook.old_url.as_ref() != Some(&self.url) {
            let old = outlook
                .old_url
                .as_deref()
                .map(redacted)
                .unwrap_or_else(|| "None".to_owned());
            actions.push(format!(
                "Remote '{}' would be changed from {old} to {}",
                self.remote_name,
                redacted(&self.url)
            ));
        }
        if !outlook.has_remote {
            actions.push(format!("Remote '{}' would be fetched", self.remote_name));
        }
        if !tree.matches && (update_head || tree.other_branch.is_some()) {
            self.set_revision(state, tree.local.as_deref(), &hash);
        }
        let done = match outlook.forward {
            Some(true) => "fast-forwarded",
            Some(false) => "hard-reset",
            None if self.is_forced() && outlook.has_remote => "hard-reset",
            None => "updated",
        };
        let place = &self.remote.place;
        match tree.other_branch {
            Some(branch) if tree.has_other_branch() => actions.push(format!(
                "Branch '{branch}' would be checked out and {done} to {}",
                short(&hash)
            )),
            Some(branch) => {
                actions.push(format!(
                    "New branch '{branch}' would be checked out, with {place} as a starting point"
                ));
                actions.extend(
                    self.remote
                        .upstream
                        .iter()
                        .map(|upstream| format!("Tracking branch would be set to {upstream}")),
                );
            }
            None if tree.matches => {}
            None if update_head => actions.push(format!(
                "Repository would be {done} from {} to {}",
                short(tree.local.as_deref().unwrap_or_default()),
                short(&hash)
            )),
            None => actions.push(format!(
                "Local HEAD ({}) does not match {place} but update_head=False, HEAD would not be updated locally",
                short(tree.local.as_deref().unwrap_or_default())
            )),
        }
        if let Some((_, what)) = self.tracking(tree.base_branch())? {
            actions.push(format!("Tracking branch would be {what}"));
        }
        if outlook.forward == Some(false) && !tree.matches {
            state.changes.insert("forced update", true);
        }
        if !state.changes.is_empty() {
            return Ok(state.clone().pending(sentence(&actions)));
        }
        Ok(self.up_to_date(state, &actions, false))
    }
}
