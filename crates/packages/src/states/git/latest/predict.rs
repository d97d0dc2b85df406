//! What test mode says.
use halite_call::StateReturn;

use super::{Job, Stop, sentence, short};
use halite_call::addresses::redacted;

impl Job<'_, '_> {
    pub(super) fn predict(
        &self,
        state: &mut StateReturn,
        seen: &Seen<'_>,
    ) -> Result<StateReturn, Stop> {
        let mut actions = Vec::new();
        let hash = self.remote.hash.clone().unwrap_or_default();
        let update_head = self.call.flag("update_head");
        if seen.old_url != Some(&self.url) {
            let old = seen
                .old_url
                .map(redacted)
                .unwrap_or_else(|| "None".to_owned());
            actions.push(format!(
                "Remote '{}' would be changed from {old} to {}",
                self.remote_name,
                redacted(&self.url)
            ));
        }
        if !seen.has_remote {
            actions.push(format!("Remote '{}' would be fetched", self.remote_name));
        }
        if !seen.matches && (update_head || seen.other_branch.is_some()) {
            self.set_revision(state, seen.local, &hash);
        }
        let done = match seen.forward {
            Some(true) => "fast-forwarded",
            Some(false) => "hard-reset",
            None if seen.forced && seen.has_remote => "hard-reset",
            None => "updated",
        };
        let place = &self.remote.place;
        match seen.other_branch {
            Some(branch) if seen.branch_exists => actions.push(format!(
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
            None if seen.matches => {}
            None if update_head => actions.push(format!(
                "Repository would be {done} from {} to {}",
                short(seen.local.unwrap_or_default()),
                short(&hash)
            )),
            None => actions.push(format!(
                "Local HEAD ({}) does not match {place} but update_head=False, HEAD would not be updated locally",
                short(seen.local.unwrap_or_default())
            )),
        }
        if let Some((_, what)) = self.tracking(seen.base_branch)? {
            actions.push(format!("Tracking branch would be {what}"));
        }
        if seen.forward == Some(false) && !seen.matches {
            state.changes.insert("forced update", true);
        }
        if !state.changes.is_empty() {
            return Ok(state.clone().pending(sentence(&actions)));
        }
        Ok(self.up_to_date(state, &actions, false))
    }
}

/// What test mode looks at.
pub(super) struct Seen<'s> {
    pub(super) local: Option<&'s str>,
    pub(super) base_branch: Option<&'s str>,
    pub(super) other_branch: Option<&'s str>,
    pub(super) branch_exists: bool,
    pub(super) matches: bool,
    pub(super) has_remote: bool,
    pub(super) forward: Option<bool>,
    pub(super) forced: bool,
    pub(super) old_url: Option<&'s str>,
}
